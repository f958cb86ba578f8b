"""What the table's rows may use besides `torch`: pieces of Python by the names that they define."""

import re

PIECES = {
    "F": "F = torch.nn.functional",
    "told": "told = []",
    "default_dtype": """
import contextlib

@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
""",
    "Double": """
class Double(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2
""",
    "Scale": """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None
""",
    "Product": """
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return (grad * y).sum_to_size(x.shape), (grad * x).sum_to_size(y.shape)
""",
    "SplitParts": """
class SplitParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        size = torch.tensor(float(x.numel()))
        ctx.mark_non_differentiable(size)
        return x.clone(), x * 3, size

    @staticmethod
    def backward(ctx, one, three, _):
        if three is None:
            return one
        return three * 3 if one is None else one + three * 3
""",
    "Write": """
class Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2
""",
    "View": """
class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad
""",
    "Once": """
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].cos()
""",
    "cotangent": """
def cotangent(t):
    return torch.tensor([0.5 + 0.07 * i for i in range(t.numel())], dtype=t.dtype).reshape(t.shape)
""",
}

EVERYTHING = compile("\n".join(PIECES.values()), "<prelude>", "exec")


def pieces_for(text: str) -> str:
    """The pieces that some text uses."""
    return "\n".join(piece.strip("\n") for name, piece in PIECES.items() if re.search(rf"\b{name}\b", text))
