"""`torch.autograd.functional` beside real PyTorch."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlite

from .side_by_side import same, same_story, story

pytestmark = pytest.mark.usefixtures("forward_level_was_open")

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
EVERY = (*PRODUCTS, "jacobian", "hessian")


def told(value):
    """A result without the names of its nodes."""
    if isinstance(value, (tuple, list)):
        return type(value)([told(v) for v in value])
    return [value.detach(), value.requires_grad]


def numbers(torch, *shape):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float64) * 0.3 + 0.4).reshape(shape)


def run(torch, name, f, inputs, v=None, **options):
    function = getattr(torch.autograd.functional, name)
    more = (v,) if name in PRODUCTS else ()
    return told(function(f, inputs, *more, **options))


def compare(program):
    torch = pytest.importorskip("torch")
    wanted, found = story(program, torch), story(program, torchlite)
    assert len(wanted) == len(found) and all(map(same, wanted, found)), f"\n  torch     {wanted}\n  torchlite {found}"


# Functions, by name: how many inputs they take, and what they make of them.
FUNCTIONS = {
    "cubes": (1, lambda torch, a: (a**3).sum()),
    "linear": (1, lambda torch, a: a.sum() * 2),
    "product": (2, lambda torch, a, b: (a.sin() * b).sum() * b.exp().sum()),
    "one of two": (2, lambda torch, a, b: (a**3).sum()),
    "separate": (2, lambda torch, a, b: (a**3).sum() + (b**2).sum()),
    "half linear": (2, lambda torch, a, b: (a**3).sum() + b.sum()),
    "constant": (1, lambda torch, a: torch.ones((), dtype=torch.float64)),
    "other variable": (1, lambda torch, a: torch.ones((), dtype=torch.float64, requires_grad=True) * 1),
    "detached": (1, lambda torch, a: (a.detach() ** 2).sum()),
    "elementwise": (1, lambda torch, a: a.exp() * a),
    "matrix": (1, lambda torch, a: a.reshape(-1, 1) * a.reshape(1, -1).cos()),
    "tuple": (1, lambda torch, a: (a.sum(), a.sin())),
    "tuple of one": (1, lambda torch, a: ((a * a).sum(),)),
    "in place": (1, lambda torch, a: a.clone().mul_(a).cumsum_(0).sum()),
    "integers": (1, lambda torch, a: a.long()),
    "number": (1, lambda torch, a: 3),
    "list": (1, lambda torch, a: [a.sum()]),
    "not all tensors": (1, lambda torch, a: (a.sum(), 3)),
    "writes to its input": (1, lambda torch, a: a.mul_(2).sum()),
    "single element": (1, lambda torch, a: (a**2).sum().reshape(1, 1)),
}
MODES = [{}, {"create_graph": True}, {"strict": True}, {"strict": True, "create_graph": True}]


def inputs_for(torch, count):
    return numbers(torch, 2) if count == 1 else (numbers(torch, 2), numbers(torch, 2) * -0.5)


@pytest.mark.parametrize("options", MODES, ids=["plain", "graph", "strict", "strict graph"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", EVERY)
def test_functions(name, function, options):
    count, f = FUNCTIONS[function]
    if (name, function) == ("jvp", "integers") and "strict" not in options:
        pytest.skip("what refuses a factory's requires_grad=True for integers is worded otherwise")

    def program(torch, tell):
        xs = inputs_for(torch, count)
        v = xs
        if name == "vjp":
            v = f(torch, *(xs if count > 1 else (xs,)))
            if not isinstance(v, torch.Tensor) and function != "tuple" and function != "tuple of one":
                v = None
        return run(torch, name, lambda *xs: f(torch, *xs), xs, v, **options)

    compare(program)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode", "sideways"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_vectorized(name, function, strategy):
    count, f = FUNCTIONS[function]
    key = "strategy" if name == "jacobian" else "outer_jacobian_strategy"

    def program(torch, tell):
        options = {"vectorize": True, key: strategy}
        found = getattr(torch.autograd.functional, name)(lambda *xs: f(torch, *xs), inputs_for(torch, count), **options)
        # PyTorch's forward Hessian may have a history that leads nowhere.
        return told(torch.utils._pytree.tree_map(lambda t: t.detach(), found))

    compare(program)


@pytest.mark.parametrize(
    "options",
    [
        {"vectorize": True, "strict": True},
        {"vectorize": True, "create_graph": True},
        {"strategy": "forward-mode"},
        {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
        {"strategy": "forward-mode", "vectorize": True, "strict": True},
    ],
)
def test_options_that_exclude_each_other(options):
    compare(lambda torch, tell: run(torch, "jacobian", lambda a: a**2, numbers(torch, 2), **options))


BAD = {
    "number": lambda torch: (3,),
    "list": lambda torch: ([torch.ones(2)],),
    "item": lambda torch: ((torch.ones(2), 3),),
    "integers": lambda torch: (torch.ones(2, dtype=torch.long), torch.ones(2)),
    "no vector": lambda torch: (torch.ones(3),),
    "number as vector": lambda torch: (torch.ones(2), 3),
    "number in vector": lambda torch: (torch.ones(2), (3,)),
    "size": lambda torch: (torch.ones(3), torch.ones(2)),
    "size of entry": lambda torch: ((torch.ones(3), torch.ones(1)), (torch.ones(3), torch.ones(2))),
    "count": lambda torch: (torch.ones(3), (torch.ones(3), torch.ones(3))),
    "count in tuple": lambda torch: ((torch.ones(3),), (torch.ones(3), torch.ones(3))),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("several", [False, True])
def test_bad_arguments(name, make, several):
    def f(*xs):
        total = sum([(x**2).sum() for x in xs])
        return (total, xs[0]) if several else total

    compare(lambda torch, tell: told(getattr(torch.autograd.functional, name)(f, *make(torch))))


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_vector_may_be_left_out(name):
    compare(lambda torch, tell: run(torch, name, lambda a: (a**3).sum(), numbers(torch, 1)))
    compare(lambda torch, tell: run(torch, name, lambda a: a**3, numbers(torch)))


@pytest.mark.parametrize("name", EVERY)
def test_graphs_lead_back_to_the_inputs(name):
    def program(torch, tell):
        x, v = numbers(torch, 3).requires_grad_(), numbers(torch, 3).requires_grad_()
        if name == "vjp":
            v = numbers(torch).requires_grad_()
        found = getattr(torch.autograd.functional, name)
        found = found(lambda a: (a**4).sum(), x, *((v,) if name in PRODUCTS else ()), create_graph=True)
        last = found[1] if name in PRODUCTS else found
        tell(torch.autograd.grad((last**2).sum(), [x, v] if name in PRODUCTS else [x]))

    compare(program)


@pytest.mark.parametrize("name", EVERY)
def test_grad_mode_and_inputs_are_left_alone(name):
    def program(torch, tell):
        x = numbers(torch, 2).requires_grad_()
        for enabled in (True, False):
            with torch.set_grad_enabled(enabled):
                tell(run(torch, name, lambda a: (a**2).sum() if name != "vjp" else a**2, x, x))
                tell(torch.is_grad_enabled(), x.requires_grad, x.is_leaf, x.grad)

    compare(program)


@same_story
def test_complex(torch, tell):
    x = torch.complex(numbers(torch, 2), numbers(torch, 2) * 2)
    functional = torch.autograd.functional
    for f in (lambda a: a * a, lambda a: (a * a.conj()).real, lambda a: a.exp().sum()):
        tell(functional.jacobian(f, x, vectorize=True))
        tell(functional.jvp(f, x, x * 1j)[1], functional.vjp(f, x, f(x))[1])


def test_a_dual_level_may_not_be_open_already():
    def program(torch, tell):
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.functional.jacobian(torch.sin, torch.ones(2), vectorize=True, strategy="forward-mode")

    compare(program)


EXPRESSIONS = [
    lambda torch, a: a.sin(),
    lambda torch, a: a * a.sum(),
    lambda torch, a: a.softmax(0),
    lambda torch, a: a.cumsum(0).sigmoid(),  # all are bounded, or grow slowly: what overflows has no one Jacobian
    lambda torch, a: torch.outer(a, a).sum(1),
    lambda torch, a: a.flip(0) * a,
    lambda torch, a: torch.cat([a[1:], a[:1]]).tanh(),
    lambda torch, a: a.clone().mul_(a),
    lambda torch, a: a.reshape(-1, 1).expand(-1, 2).logsumexp(1),
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(EXPRESSIONS) - 1), min_size=1, max_size=3), st.integers(1, 4))
def test_all_ways_to_a_jacobian_agree(steps, n):
    def f(torch, a):
        for step in steps:
            a = EXPRESSIONS[step](torch, a)
        return a

    torch = pytest.importorskip("torch")
    x = numbers(torchlite, n) * 0.5
    wanted = torch.autograd.functional.jacobian(lambda a: f(torch, a), numbers(torch, n) * 0.5).tolist()
    functional = torchlite.autograd.functional
    ways = [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]
    for way in ways:
        assert same(wanted, functional.jacobian(lambda a: f(torchlite, a), x, **way).tolist())
    v = numbers(torchlite, n)
    jacobian = functional.jacobian(lambda a: f(torchlite, a), x)
    assert torchlite.allclose(functional.jvp(lambda a: f(torchlite, a), x, v)[1], jacobian @ v)
    assert torchlite.allclose(functional.vjp(lambda a: f(torchlite, a), x, v)[1], v @ jacobian)
    hessians = [
        functional.hessian(lambda a: f(torchlite, a).sum(), x, vectorize=way, outer_jacobian_strategy=strategy)
        for way, strategy in ((False, "reverse-mode"), (True, "reverse-mode"), (True, "forward-mode"))
    ]
    assert all(torchlite.allclose(hessians[0], h, rtol=1e-6) for h in hessians)
    assert torchlite.allclose(functional.hvp(lambda a: f(torchlite, a).sum(), x, v)[1], hessians[0] @ v, rtol=1e-6)
    assert torchlite.allclose(functional.vhp(lambda a: f(torchlite, a).sum(), x, v)[1], v @ hessians[0], rtol=1e-6)


# ---- many gradients at once


@same_story
def test_batched_gradients(torch, tell):
    x, w = numbers(torch, 3).requires_grad_(), numbers(torch, 3).requires_grad_()
    y, z = x * x * w, (x * 2).sum()

    def grad(*args, **options):
        found = torch.autograd.grad(*args, is_grads_batched=True, retain_graph=True, **options)
        tell([None if g is None else [g.detach(), g.requires_grad] for g in found])

    basis = torch.eye(3, dtype=torch.float64)
    grad(y, x, basis)
    grad(y, (x, w), basis, create_graph=True)
    grad((y, z), x, (basis, basis[0]))
    grad(z, (x, w), basis[0], allow_unused=True)
    grad(z, (x, w), basis[0], materialize_grads=True)
    for outputs, weights in (
        (y, torch.ones(3)),
        (y, torch.ones(2, 4)),
        (y, None),
        ((y, z), (basis, torch.ones(2))),
        (y, basis.to(torch.cfloat)),
        (x.detach(), basis),
    ):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            grad(outputs, x, weights)
        tell(str(caught.value))
    grad(z, (x, w), basis[0])


# ---- lifetimes


def test_nothing_is_left_behind():
    gc.disable()
    try:
        seen = []

        def f(a):
            y = a.exp() * a
            seen.append(weakref.ref(y))
            return y.sum()

        x = numbers(torchlite, 2)
        functional = torchlite.autograd.functional
        functional.hessian(f, x)
        functional.hessian(f, x, vectorize=True, outer_jacobian_strategy="forward-mode")
        functional.hvp(f, x, x)
        functional.jvp(f, x, x)
        assert len(seen) == 4 and not any(reference() is not None for reference in seen)
    finally:
        gc.enable()
