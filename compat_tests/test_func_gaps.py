"""Corners of `torch.func` beside real PyTorch: what is made or captured inside transforms, what they refuse."""

from __future__ import annotations

import warnings

import pytest

import torchlite

from .side_by_side import same_story


@pytest.fixture(scope="module", autouse=True)
def first_jvp():
    """PyTorch's first one warns of what it is made of."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def rows(torch):
    return torch.tensor([[0.3, -0.7, 0.9], [1.0, 2.0, 3.0]])


def ones(torch):
    return torch.ones(3)


def told(programs):
    """A test of every program of a table, told alike by both libraries."""

    def test(name):
        same_story(lambda torch, tell: tell(programs[name](torch)))()

    return pytest.mark.parametrize("name", programs)(test)


# ---- tensors from outside, and those made inside


def writing(write, transform="grad"):
    """The gradient of a function that writes to what `write` gets, and what a captured tensor is then."""

    def program(torch):
        captured = ones(torch)

        def f(x):
            return write(torch, captured, x).sum()

        if transform == "jvp":
            return torch.func.jvp(f, (ones(torch),), (ones(torch),)), captured
        return torch.func.grad(f)(ones(torch) * 2), captured

    return program


def set_item(t, index, value):
    t[index] = value
    return t


def in_no_grad(torch, write):
    with torch.no_grad():
        return write()


def nested(torch, inside):
    """`inside(z, y)` runs in a gradient inside another one, to whose level `z` belongs."""

    def outer(x):
        z = x.clone()
        return torch.func.grad(lambda y: inside(z, y).sum())(x).sum() + z.sum()

    return torch.func.grad(outer)(ones(torch))


def leaf_made_inside(torch):
    def f(x):
        y = torch.ones(3)
        y.requires_grad = True
        return (x * y * torch.ones(3, requires_grad=True)).sum()

    return torch.func.grad(f)(ones(torch))


test_writes = told({
    "captured": writing(lambda torch, c, x: c.copy_(x)),
    "captured number": writing(lambda torch, c, x: c.add_(1) * x),
    "captured item": writing(lambda torch, c, x: set_item(c, 0, x[1])),
    "captured view": writing(lambda torch, c, x: c[1:].mul_(2)),
    "captured in no_grad": writing(lambda torch, c, x: in_no_grad(torch, lambda: c.copy_(x))),
    "captured in jvp": writing(lambda torch, c, x: c.mul_(x), "jvp"),
    "made inside": writing(lambda torch, c, x: torch.zeros(3).copy_(x) * x),
    "made inside jvp": writing(lambda torch, c, x: torch.zeros_like(x).copy_(x) * x, "jvp"),
    "item of made inside": writing(lambda torch, c, x: set_item(torch.zeros(3), 0, x[1]) * x),
    "made of captured": writing(lambda torch, c, x: (c * 2).add_(x) * x),
    "like captured": writing(lambda torch, c, x: torch.zeros_like(c).add_(x) * x),
    "outer level": lambda torch: nested(torch, lambda z, y: z.mul_(2) * y),
    "made of outer level": lambda torch: nested(torch, lambda z, y: (z * 2).mul_(y)),
    "outer level in vmap": lambda torch: torch.func.grad(
        lambda x: torch.vmap(lambda y: (x * 1).mul_(y).sum())(ones(torch)).sum()
    )(ones(torch)),
    "leaf": leaf_made_inside,
})  # fmt: skip


# ---- what is refused inside


def with_hooks(torch, f):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return f()


def retaining(torch, x):
    y = x * 2
    y.retain_grad()
    return y.sum()


def data_set(torch, x):
    x.data = ones(torch)
    return x


def of_vmap(f, **options):
    return lambda torch: torch.vmap(lambda x: f(torch, x), **options)(rows(torch))


test_refusals = told({
    "requires_grad_": lambda torch: torch.func.grad(lambda x: x.requires_grad_().sum())(ones(torch)),
    "retain_grad": lambda torch: torch.func.grad(lambda x: retaining(torch, x))(ones(torch)),
    "hooks inside": lambda torch: torch.func.grad(lambda x: with_hooks(torch, lambda: (x * x).sum()))(ones(torch)),
    "hooks outside": lambda torch: with_hooks(torch, lambda: torch.func.grad(torch.sum)(ones(torch))),
    "data": of_vmap(lambda torch, x: x.data),
    "data set": of_vmap(data_set),
    "out": of_vmap(lambda torch, x: torch.add(x, x, out=torch.empty(3))),
    "storage": of_vmap(lambda torch, x: x.untyped_storage()),
    "memory format": of_vmap(lambda torch, x: x.is_contiguous(memory_format=torch.channels_last)),
    "as_strided beyond": of_vmap(lambda torch, x: x[1:].as_strided((3,), (1,), 0)),
    "as_strided of two ranks": of_vmap(lambda torch, x: x.as_strided((2,), (1, 2), 0)),
    "rrelu": of_vmap(lambda torch, x: torch.nn.functional.rrelu(x)),
    "where": of_vmap(lambda torch, x: torch.where(x > 0)),
    "in_dims list": lambda torch: torch.vmap(torch.mul, in_dims=[0, None])(ones(torch), ones(torch)),
    "no batch": lambda torch: torch.vmap(torch.mul, in_dims=(None, None))(ones(torch), ones(torch)),
    "out_dims float": lambda torch: torch.vmap(lambda x: (x, x), out_dims=(0, 1.5))(ones(torch)),
    "same argnum twice": lambda torch: torch.func.grad(torch.dot, argnums=(0, -2))(ones(torch), ones(torch)),
    "no output": lambda torch: torch.func.vjp(lambda x: None, ones(torch)),
    "no cotangent": lambda torch: torch.func.vjp(torch.sin, ones(torch))[1](None),
    "names": lambda torch: torch.func.functional_call(
        torch.nn.BatchNorm1d(2), {"b": ones(torch), "a": ones(torch)}, rows(torch), strict=True
    ),
})  # fmt: skip


# ---- batches


def picked(torch, i):
    t = torch.zeros(3)
    return torch.arange(5)[i], set_item(t.clone() + i * 0, i, 1.0)


def drawn(torch, randomness):
    torch.manual_seed(0)
    return torch.vmap(lambda x: torch.randn_like(x), randomness=randomness, out_dims=0)(rows(torch))


test_batches = told({
    "index": lambda torch: torch.vmap(lambda i: picked(torch, i))(torch.tensor([1, 2])),
    "named arguments": lambda torch: torch.vmap(lambda x, *, k: x * k)(ones(torch), k=torch.arange(3.0)),
    "linspace": of_vmap(lambda torch, x: torch.linspace(x[0], x[1], 4)),
    "logspace": of_vmap(lambda torch, x: torch.logspace(x[0], x[1], 3)),
    "same draw": lambda torch: drawn(torch, "same"),
    "different draws": lambda torch: drawn(torch, "different"),
})  # fmt: skip


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_batched_quantiles(name):
    def program(torch, tell):
        return torch.vmap(getattr(torch, name))(rows(torch), torch.tensor([0.25, 0.5])).tolist()

    assert program_results(program)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_batched_counts():
    def program(torch, tell):
        repeats = torch.tensor([[1, 2, 0], [1, 1, 1]])
        return torch.vmap(torch.Tensor.repeat_interleave)(rows(torch), repeats).sum(1).tolist()

    assert program_results(program)


def program_results(program):
    """Whether a program returns the same in both libraries, whatever they warn of."""
    torch = pytest.importorskip("torch")
    return program(torch, None) == pytest.approx(program(torchlite, None))


# ---- modes and modules


def test_a_function_in_no_grad_is_recorded_below():
    @same_story
    def story(torch, tell):
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(x, y):
                return x * y

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, g):
                x, y = ctx.saved_tensors
                return g * y, g * x

        w = torch.ones(3, requires_grad=True)

        def f(x):
            with torch.no_grad():
                y = Product.apply(x, w)
            tell(y.requires_grad)
            return (y * x).sum()

        return torch.func.grad(f)(ones(torch))

    story()


@same_story
def test_forward_mode_off_inside_jvp(torch, tell):
    def f(x):
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            y = x * 2
        return y + x

    return torch.func.jvp(f, (ones(torch),), (ones(torch),))


@same_story
def test_functional_call_hands_back_what_the_module_replaced(torch, tell):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count = self.count + 1
            return self.count * x

    module, given = Counting(), {"count": torch.full((), 5.0)}
    return torch.func.functional_call(module, given, ones(torch)), module.count, given
