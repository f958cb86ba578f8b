"""Corners of `torch.func` beside real PyTorch: what is made or captured inside transforms, what they refuse."""

from __future__ import annotations

import functools
import warnings

import pytest

import torchlite

from .side_by_side import same_story

pytestmark = pytest.mark.usefixtures("jvp_was_taken")


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
    "places in each dimension": of_vmap(lambda torch, x: x.nonzero(as_tuple=True)),
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


def in_elements(f):
    """A program that maps the gradient of a loss over scores and classes, and tells which ops it warns of."""

    def program(torch):
        scores, classes = rows(torch).reshape(2, 1, 3), torch.tensor([[[2, 0, -1]], [[1, -1, -1]]])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            slopes = torch.vmap(torch.func.grad(functools.partial(f, torch.nn.functional)))(scores, classes)
        return slopes, [str(one.message).partition(" aten::")[2].partition(".")[0] for one in warned]

    return program


test_what_has_no_batching_rule = told({
    "multi_margin_loss": in_elements(lambda F, x, y: F.multi_margin_loss(x, y[:, 0], p=2)),
    "multilabel_margin_loss": in_elements(lambda F, x, y: F.multilabel_margin_loss(x, y)),
})


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
def test_hinges_and_ends_of_ranges_inside(torch, tell):
    x, signs = torch.arange(6.0).reshape(2, 3) / 4, torch.tensor([1.0, -1.0, 1.0])
    hinge = torch.nn.functional.hinge_embedding_loss
    tell(torch.func.vmap(hinge, (0, None))(x, signs), torch.func.jvp(lambda x: hinge(x, signs, 0.7), (x,), (x.exp(),)))
    tell(torch.func.vmap(lambda end: torch.linspace(0, end, 4))(x[0]))


PULLED_BACK = {
    "sort": lambda torch, x: x.sort(0)[0],
    "kthvalue": lambda torch, x: x.kthvalue(2, 0)[0],
    "max": lambda torch, x: x.max(1)[0],
    "median": lambda torch, x: x.median(),
    "grid_sample": lambda torch, x: torch.nn.functional.grid_sample(
        x.expand(1, 1, 2, 2, 3), x.new_full((1, 2, 1, 2, 3), 0.25), align_corners=True
    ),
}


@pytest.mark.parametrize("name", PULLED_BACK)
def test_pullbacks_where_either_side_alone_is_a_batch(name):
    @same_story
    def both(torch, tell):
        def pulled(x, g):
            return torch.func.vjp(lambda x: PULLED_BACK[name](torch, x), x)[1](g)

        x = torch.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]])
        g = torch.ones_like(PULLED_BACK[name](torch, x))
        tell(torch.func.vmap(pulled, (0, None))(torch.stack([x, -x]), g))
        tell(torch.func.vmap(pulled, (None, 0))(x, torch.stack([g, 2 * g])))

    both()


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


# ---- batches of what has no elements, gets another size, or is drawn


def empty(torch):
    return torch.tensor([])


def matrices(torch):
    return torch.arange(12.0).reshape(2, 2, 3)


test_what_has_no_room = told({
    "cat with a captured empty": lambda torch: torch.vmap(lambda x: torch.cat([x, empty(torch)]))(matrices(torch)),
    "cat with empties along 1": lambda torch: torch.vmap(lambda x: torch.cat([empty(torch), x, empty(torch)], 1))(
        matrices(torch)
    ),
    "cat with a batch of empties": lambda torch: torch.vmap(lambda x, y: torch.cat([y, x]))(
        matrices(torch), torch.ones(2, 0, dtype=torch.float64)
    ),
    "the gradient of an empty": lambda torch: torch.func.grad(
        lambda e: torch.vmap(lambda x: torch.cat([e, x]))(matrices(torch)).sum()
    )(empty(torch)),
    "resize": lambda torch: torch.vmap(lambda x: torch.zeros(4).resize_(2) + x)(torch.ones(3, 2)),
    "resize a batch": lambda torch: torch.vmap(lambda x: x.resize_(2, 2))(torch.arange(12.0).reshape(3, 4)),
    "resize what is differentiated": lambda torch: torch.func.grad(lambda x: x.resize_(1).sum())(ones(torch)),
    "resize what moves": lambda torch: torch.func.jvp(lambda x: x.resize_(1), (ones(torch),), (ones(torch),)),
    "out in jvp": lambda torch: torch.func.jvp(
        lambda x: torch.mul(x, 2, out=torch.empty(3)), (ones(torch),), (ones(torch),)
    ),
    "data in grad": lambda torch: torch.func.grad(lambda x: setattr(x, "data", x * 2))(ones(torch)),
    "an integer tangent": lambda torch: torch.func.jvp(torch.sin, (ones(torch),), (torch.ones(3, dtype=torch.int64),)),
    "truth of several": lambda torch: torch.vmap(lambda x: x if x else -x)(rows(torch)),
    "classes unknown": lambda torch: torch.vmap(torch.nn.functional.one_hot)(torch.ones(2, 3, dtype=torch.int64)),
    "a partial's name": lambda torch: torch.vmap(functools.partial(torch.sum, dim=0), in_dims=7)(rows(torch)),
    "randomness": lambda torch: torch.vmap(torch.sin, randomness="some"),
    "an empty name": lambda torch: torch.func.functional_call(torch.nn.ReLU(), {"": ones(torch)}, ones(torch)),
})


DRAWS = {
    "normal": lambda torch, x: torch.normal(x, x.abs()),
    "normal of fewer dimensions": lambda torch, x: torch.normal(torch.ones(2, 3), x.abs()),
    "bernoulli_ by a batch": lambda torch, x: x.clone().bernoulli_(x.sigmoid()),
    "bernoulli_ of more dimensions": lambda torch, x: x[None].clone().bernoulli_(x.sigmoid()),
    "multinomial of rows": lambda torch, x: torch.multinomial(x[None].softmax(-1).expand(2, 3), 2),
    "Normal": lambda torch, x: torch.distributions.Normal(x, 1.0).sample(),
    "Categorical": lambda torch, x: torch.distributions.Categorical(x.softmax(0)).sample((4,)),
    "log_prob": lambda torch, x: torch.distributions.Normal(x, x.abs()).log_prob(x),
}


@pytest.mark.parametrize("randomness", ("error", "same", "different"))
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_draws_by_batches(draw, randomness):
    @same_story
    def story(torch, tell):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch checks arguments of distributions element by element
            return torch.vmap(lambda x: draw(torch, x), randomness=randomness)(rows(torch))

    story()


@same_story
def test_printed_inside(torch, tell):
    """What is made inside of a transform that differentiates prints as one of its tensors."""
    captured, left = ones(torch), []

    def look(x):
        tell(repr(captured), repr(captured + 1), repr(torch.zeros(2)), str(torch.tensor([1, 2])), f"{torch.zeros(())}")
        tell(repr(x.long()), repr(torch.zeros_like(x) + torch.ones(3)))
        left.append(x * 2)
        return x.sum()

    func, x = torch.func, ones(torch)
    func.grad(look)(x)
    func.jvp(look, (x,), (x,))
    func.grad(lambda x: func.grad(look)(x).sum())(x)
    func.vmap(func.grad(look))(rows(torch))
    func.grad(lambda x: func.vmap(look)(x).sum())(rows(torch))
    tell([repr(t) for t in left[:2]])


@same_story
def test_second_derivatives_of_pools_have_no_history(torch, tell):
    x = torch.arange(16.0).reshape(1, 1, 4, 4).sin()
    for pool in (torch.nn.functional.max_pool2d, torch.nn.functional.avg_pool2d):
        found = torch.func.hessian(lambda v, pool=pool: (pool(v, 2) ** 2).sum())(x)
        tell(found, found.requires_grad)


@same_story
def test_derivatives_are_linearized_out_of_sight_of_hooks(torch, tell):
    warnings.simplefilter("ignore")  # PyTorch folds constants, and tells of it
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        value, push = torch.func.linearize(lambda x: x.sin() * x, ones(torch))
        tell(value, push(ones(torch)))
    tell(push(ones(torch)))
