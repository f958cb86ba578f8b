"""Linear maps, activations and the squared error: as functions and as modules."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite
from compat_tests.side_by_side import same_story

DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "int64"]
REQUIRED = ["input", "weight", "bias", "input weight", "weight bias", "input weight bias", ""]


def numbers(torch, *shape, dtype="float32", step=0.125):
    """Small numbers that all dtypes hold exactly, or nearly."""
    count = 1
    for n in shape:
        count *= n
    t = (torch.arange(count).reshape(shape) % 7 - 3) * (1 if dtype == "int64" else step)
    return t.to(getattr(torch, dtype))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4,), (5, 4), (1, 4), (0, 4), (2, 3, 4), (2, 0, 4), (2, 1, 3, 4)], ids=str)
def test_linear(shape, dtype, bias):
    @same_story
    def program(torch, tell):
        for required in REQUIRED if dtype != "int64" else [""]:
            x, w = numbers(torch, *shape, dtype=dtype), numbers(torch, 3, 4, dtype=dtype)
            b = numbers(torch, 3, dtype=dtype) if bias else None
            named = {"input": x, "weight": w, "bias": b}
            asked = [named[n] for n in required.split() if named[n] is not None]
            for t in asked:
                t.requires_grad_()
            y = torch.nn.functional.linear(x, w, b)
            tell(y.detach(), y.stride(), len(shape) > 1 and y.grad_fn and y.grad_fn.name())
            if asked:
                tell(torch.autograd.grad(y.sum(), asked, retain_graph=True))
                tell([g.detach() for g in torch.autograd.grad(y.sum(), asked, create_graph=True)])

    program()


@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 3, 4)], ids=str)
def test_linear_twice_differentiated(shape):
    @same_story
    def program(torch, tell):
        x, w, b = (numbers(torch, *s, dtype="float64").requires_grad_() for s in (shape, (3, 4), (3,)))
        first = torch.autograd.grad((torch.nn.functional.linear(x, w, b) ** 3).sum(), (x, w, b), create_graph=True)
        tell([g.detach() for g in first])
        tell(torch.autograd.grad(sum((g * g).sum() for g in first), (x, w, b)))

    program()


@same_story
def test_linear_of_what_is_not_contiguous(torch, tell):
    linear = torch.nn.functional.linear
    x = numbers(torch, 4, 6).t().requires_grad_()
    w = numbers(torch, 4, 3).t()
    y = linear(x, w, numbers(torch, 6)[::2])
    tell(y, y.stride(), torch.autograd.grad(y.sum(), x))
    x = numbers(torch, 2, 4, 3).transpose(1, 2)
    tell(linear(x, w), linear(x, w).stride())
    x = numbers(torch, 3, 2, 8)[..., :4]
    tell(linear(x, w), linear(x, w).stride())


@same_story
def test_linear_saves_what_it_needs(torch, tell):
    x, w, b = (numbers(torch, *s).requires_grad_() for s in ((2, 4), (3, 4), (3,)))
    y = torch.nn.functional.linear(x, w, b).sum()
    with torch.no_grad():
        b.add_(1)
    y.backward(retain_graph=True)
    with torch.no_grad():
        x.add_(1)
    y.backward()


CALLS = {
    "too few columns": lambda t: (t(5, 3), t(3, 4), t(3)),
    "too few columns, no bias": lambda t: (t(5, 3), t(3, 4)),
    "too few columns of batches": lambda t: (t(5, 2, 3), t(3, 4), t(3)),
    "too few columns of batches, no bias": lambda t: (t(5, 2, 3), t(3, 4)),
    "too short a vector": lambda t: (t(3), t(3, 4), t(3)),
    "too short a vector, no bias": lambda t: (t(3), t(3, 4)),
    "a number": lambda t: (t(), t(3, 4)),
    "a number, bias": lambda t: (t(), t(3, 4), t(3)),
    "too short a bias": lambda t: (t(5, 4), t(3, 4), t(2)),
    "too short a bias for batches": lambda t: (t(2, 5, 4), t(3, 4), t(2)),
    "too large a bias": lambda t: (t(5, 4), t(3, 4), t(3, 3)),
    "other weights": lambda t: (t(5, 4), t(3, 4).double()),
    "another bias": lambda t: (t(5, 4), t(3, 4), t(3).double()),
    "ints on floats": lambda t: (t(5, 4).int(), t(3, 4)),
    "bools": lambda t: (t(5, 4) > 0, t(3, 4) > 0),
    "no tensor": lambda t: (3, t(3, 4)),
    "no weight": lambda t: (t(5, 4), None),
    "a vector for a weight": lambda t: (t(5, 4), t(4)),
    "a vector for a weight, bias": lambda t: (t(5, 4), t(4), t(1)),
    "two vectors": lambda t: (t(4), t(4)),
    "a cube for a weight": lambda t: (t(5, 4), t(2, 3, 4)),
    "a bias of one": lambda t: (t(5, 4), t(3, 4), t(1)),
    "a bias of one for batches": lambda t: (t(2, 5, 4), t(3, 4), t(1)),
    "a bias that is a number": lambda t: (t(5, 4), t(3, 4), t()),
    "a bias that is a matrix": lambda t: (t(5, 4), t(3, 4), t(5, 3)),
    "nothing": lambda t: (t(5, 4),),
    "on meta": lambda t: (t(5, 4).to("meta"), t(3, 4).to("meta"), t(3).to("meta")),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_of_linear(call):
    @same_story
    def program(torch, tell):
        given = CALLS[call](lambda *shape: numbers(torch, *shape))
        tell(torch.nn.functional.linear(*given))
        tell(torch.nn.functional.linear(**dict(zip(("input", "weight", "bias"), given))))

    program()


@same_story
def test_handlers_are_told_of_linear(torch, tell):
    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            tell(func is torch.nn.functional.linear, func.__name__, len(args), kwargs)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(1, 2).as_subclass(Watched)
    tell(type(torch.nn.Linear(2, 2)(x)).__name__)


@pytest.mark.parametrize("shapes", [((3, 4), (3, 5)), ((4,), (5,)), ((2, 3, 4), (2, 3, 5)), ((1, 4), (1, 5))], ids=str)
def test_bilinear(shapes):
    @same_story
    def program(torch, tell):
        x, y = (numbers(torch, *shape, dtype="float64").requires_grad_() for shape in shapes)
        w, b = numbers(torch, 2, 4, 5, dtype="float64").requires_grad_(), numbers(torch, 2, dtype="float64")
        for bias in (b, None):
            z = torch.nn.functional.bilinear(x, y, w, bias)
            tell(z.detach(), torch.autograd.grad((z * z).sum(), (x, y, w)))
        with torch.autocast("cpu", torch.bfloat16):
            tell(torch.nn.functional.bilinear(*[t.detach().float() for t in (x, y, w)]))

    program()


@pytest.mark.parametrize(
    "shapes",
    [((3, 4), (2, 5), (2, 4, 5), (2,)), ((3, 4), (3, 5), (2, 5, 5), (2,)), ((3, 4), (3, 5), (2, 4, 6), (2,)),
     ((3, 4), (3, 5), (2, 4, 5), (3,)), ((1, 3, 4), (3, 5), (2, 4, 5), (2,))],
    ids=str,
)  # fmt: skip
def test_what_bilinear_refuses(shapes):
    @same_story
    def program(torch, tell):
        torch.nn.functional.bilinear(*[torch.ones(shape) for shape in shapes])

    program()


# ---- the squared error


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float64", "float32"), ("float32", "float64")], ids=str)
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((), ()), ((2, 3), (3,)), ((0,), (0,)), ((2, 1), (1, 3))], ids=str)
def test_mse_loss(shapes, dtypes, reduction):
    @same_story
    def program(torch, tell):
        for required in ((True, False), (False, True), (True, True), (False, False)):
            x, y = (numbers(torch, *shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes))
            y = y * y
            asked = [t.requires_grad_() for t, wanted in zip((x, y), required) if wanted]
            z = torch.nn.functional.mse_loss(x, y, reduction=reduction)
            tell(z)
            if asked:
                first = torch.autograd.grad((z * z).sum(), asked, create_graph=True)
                tell([g.detach() for g in first])
                tell(torch.autograd.grad(sum((g * g).sum() for g in first), asked))

    program()


LOSS_CALLS = {
    "by old names": lambda f, x: (f(x, x + 1, size_average=False), f(x, x + 1, None, False), f(x, x + 1, True, True)),
    "no such reduction": lambda f, x: f(x, x, reduction="average"),
    "shapes that do not fit": lambda f, x: f(x, x[:2]),
    "weights": lambda f, x: [f(x, x * x, weight=x + 2, reduction=r) for r in ("mean", "sum", "none")],
    "weights of another shape": lambda f, x: f(x, x, weight=x[:1]),
    "ints": lambda f, x: f(x.int(), x.int()),
    "bools": lambda f, x: f(x > 0, x > 0),
    "a number": lambda f, x: f(x, 3),
    "halves": lambda f, x: (f(x.half(), x.half() + 1), f(x.bfloat16(), x.bfloat16() + 1)),
}


@pytest.mark.parametrize("call", LOSS_CALLS)
def test_calls_of_mse_loss(call):
    @same_story
    def program(torch, tell):
        tell(LOSS_CALLS[call](torch.nn.functional.mse_loss, numbers(torch, 3)))

    program()


# ---- modules

MODULES = {
    "Linear": lambda nn: nn.Linear(4, 3),
    "Linear without bias": lambda nn: nn.Linear(4, 3, False),
    "Identity": lambda nn: nn.Identity(1, x=2),
    "Flatten": lambda nn: nn.Flatten(),
    "Flatten all": lambda nn: nn.Flatten(0, -1),
    "Unflatten": lambda nn: nn.Unflatten(1, (2, 2)),
    "Unflatten to a size": lambda nn: nn.Unflatten(-1, [2, -1]),
    "Unflatten to a number": lambda nn: nn.Unflatten(1, 3),
    "Unflatten to a string": lambda nn: nn.Unflatten(1, (3, "a")),
    "ReLU": lambda nn: nn.ReLU(),
    "Tanh": lambda nn: nn.Tanh(),
    "Sigmoid": lambda nn: nn.Sigmoid(),
    "Softmax": lambda nn: nn.Softmax(-1),
    "Softmax of no dimension": lambda nn: nn.Softmax(),
    "Bilinear": lambda nn: nn.Bilinear(4, 4, 2),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    @same_story
    def program(torch, tell):
        torch.manual_seed(3)
        m = MODULES[name](torch.nn)
        x = numbers(torch, 3, 4).requires_grad_()
        y = m(x, x) if name == "Bilinear" else m(x)
        tell(repr(m), m.extra_repr(), y.detach(), [*m.named_parameters()])
        (y * y).sum().backward()
        tell(x.grad, [p.grad for p in m.parameters()])

    program()


@same_story
def test_losses_as_modules(torch, tell):
    nn = torch.nn
    x, y = numbers(torch, 3), torch.ones(3)
    for m in (nn.MSELoss(), nn.MSELoss(reduction="sum"), nn.MSELoss("sum"), nn.MSELoss(size_average=False)):
        tell(repr(m), m.reduction, m(x, y))
    nn.MSELoss(reduction="most")(x, y)


@same_story
def test_training(torch, tell):
    nn = torch.nn
    torch.manual_seed(0)
    m = nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), nn.ReLU())
    x, y = torch.randn(5, 2, 2), torch.randn(5, 2)
    for _ in range(5):
        loss = nn.functional.mse_loss(m(x), y)
        m.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in m.parameters():
                p -= 0.1 * p.grad
        tell(loss)
    tell(m.state_dict())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3)])
@pytest.mark.parametrize("wanted", ["input", "weight", "input weight"])
def test_backward_runs_after_somebody_looked_at_the_graph(bias: bool, shape: tuple[int, ...], wanted: str) -> None:
    def gradients(look: bool) -> list[Any]:
        torchlite.manual_seed(0)
        x = torchlite.randn(shape, requires_grad="input" in wanted)
        w = torchlite.randn(4, 3, requires_grad="weight" in wanted)
        out = torchlite.nn.functional.linear(x, w, torchlite.zeros(4) if bias else None)
        nodes = [out.grad_fn]
        while look and nodes:
            node = nodes.pop()
            for name in dir(node):
                if name.startswith("_saved_"):
                    getattr(node, name)
            nodes += [n for n, _ in node.next_functions if n is not None]
        out.pow(2).sum().backward()
        return [t.grad for t in (x, w)]

    for looked, unlooked in zip(gradients(look=True), gradients(look=False), strict=True):
        torchlite.testing.assert_close(looked, unlooked, check_stride=True)
