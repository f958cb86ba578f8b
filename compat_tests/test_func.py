"""`torch.func`: `jvp` and `vmap`, alone and in each other, beside real PyTorch."""

from __future__ import annotations

import re
import warnings
from collections import namedtuple

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

import numpy as np  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import torchlite  # noqa: E402

from .side_by_side import uncollected  # noqa: E402

BOTH = (torch, torchlite)


def numbers(library, shape, seed=0, dtype="float64"):
    """The same values in either library."""
    made = np.random.default_rng(seed).normal(size=shape)
    return library.tensor(made.tolist(), dtype=getattr(library, dtype)).reshape(shape)


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [value]


def agree(program, *, rtol=1e-9):
    """Run a program in both libraries and compare all tensors that it returns."""
    expected, found = [leaves(program(library)) for library in BOTH]
    assert len(expected) == len(found)
    for wanted, got in zip(expected, found):
        assert tuple(got.shape) == tuple(wanted.shape)
        assert str(got.dtype) == str(wanted.dtype)
        values = torch.tensor(got.tolist(), dtype=wanted.dtype)
        torch.testing.assert_close(values, wanted.detach(), rtol=rtol, atol=1e-9)


def same_error(program):
    """Both libraries raise the same exception."""
    errors = []
    for library in BOTH:
        with pytest.raises(Exception) as caught:
            program(library)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[1] == errors[0]


# ---- functions of a matrix, of every kind of op

FUNCTIONS = {
    "elementwise": lambda torch, x: (x.sin() * x.exp()).tanh() / (x * x + 1),
    "broadcast": lambda torch, x: x * x.sum(0) + x[:, :1],
    "reduce": lambda torch, x: x.logsumexp(0) + x.var(0) + x.mean() + x.prod(1, keepdim=True),
    "whole": lambda torch, x: torch.stack([x.sum(), x.max(), x.std(), x.norm(), x.median()]),
    "views": lambda torch, x: x.t().reshape(-1)[1:].unfold(0, 2, 1).flip(0).unsqueeze(-1).expand(-1, -1, 2),
    "products": lambda torch, x: x @ x.t() @ x + torch.outer(x[:, 0], x[0]),
    "indexing": lambda torch, x: x[[0, 0]] * x.gather(0, x.argsort(0))[:1] + x.index_select(1, x[0].argsort()).sum(),
    "sorting": lambda torch, x: x.sort(0).values.cumsum(1) + x.topk(1, 0).values,
    "softmax": lambda torch, x: x.softmax(-1) * x.log_softmax(0),
    "joining": lambda torch, x: torch.cat([x, x.cos()], 1).split(2, 1)[0] + torch.stack([x, x]).sum(0)[:, :2],
    "masks": lambda torch, x: torch.where(x > 0, x, x * 0.1).masked_fill(x > 1, 2.0) + x.clamp(-0.5, 0.5),
    "complex": lambda torch, x: (
        (torch.complex(x, x.cos()) ** 2).abs() + torch.view_as_real(torch.polar(x.exp(), x)).sum(-1)
    ),
    "scatter": lambda torch, x: (
        torch.zeros_like(x).scatter_add(0, (x > 0).long(), x * x) + x.index_add(0, torch.tensor([0]), x[:1])
    ),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    return FUNCTIONS[request.param]


def along(torch, f, x, seed=9):
    return torch.func.jvp(lambda x: f(torch, x), (x,), (numbers(torch, tuple(x.shape), seed),))


def test_jvp(function):
    agree(lambda torch: along(torch, function, numbers(torch, (3, 4))))


def test_jvp_is_the_transpose_of_backward(function):
    x = numbers(torchlite, (3, 4)).requires_grad_()
    out, tangent = along(torchlite, function, x)
    assert out.requires_grad
    weights = numbers(torchlite, tuple(out.shape), 5)
    (gradient,) = torchlite.autograd.grad(function(torchlite, x), x, weights)
    direction = numbers(torchlite, (3, 4), 9)
    assert float((gradient * direction).sum()) == pytest.approx(float((tangent * weights).sum()))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_vmap(function, dim):
    shape = [3, 4]
    shape.insert(dim % 3, 2)
    agree(lambda torch: torch.func.vmap(lambda x: function(torch, x), in_dims=dim)(numbers(torch, tuple(shape))))


def test_jvp_of_vmap(function):
    def mapped(torch, x):
        return torch.func.vmap(lambda x: function(torch, x))(x)

    agree(lambda torch: along(torch, mapped, numbers(torch, (2, 3, 4))))


def test_vmap_of_jvp(function):
    agree(lambda torch: torch.func.vmap(lambda x: along(torch, function, x))(numbers(torch, (2, 3, 4))))


def test_vmap_of_vmap(function):
    def program(torch):
        twice = torch.func.vmap(torch.func.vmap(lambda x: function(torch, x), out_dims=-1), in_dims=2, out_dims=1)
        return twice(numbers(torch, (2, 3, 5, 4)))

    agree(program)


def test_jvp_of_jvp(function):
    def derivative(torch, x):
        return along(torch, function, x, 3)[1]

    agree(lambda torch: along(torch, derivative, numbers(torch, (3, 4))), rtol=1e-7)


def test_gradient_of_jvp(function):
    def program(torch):
        x = numbers(torch, (3, 4)).requires_grad_()
        _, tangent = along(torch, function, x)
        if not tangent.requires_grad:
            return torch.zeros_like(x)
        return torch.autograd.grad(tangent.sum(), x)

    agree(program, rtol=1e-7)


def test_gradient_of_vmap(function):
    def program(torch):
        x = numbers(torch, (2, 3, 4)).requires_grad_()
        return torch.autograd.grad(torch.func.vmap(lambda x: function(torch, x))(x).sum(), x)

    agree(program)


# ---- properties

SHAPES = st.lists(st.integers(1, 3), max_size=3)


@settings(deadline=None, max_examples=60)
@given(SHAPES, SHAPES, st.integers(1, 3), st.data())
def test_broadcasting_under_vmap(first, second, size, data):
    """Elements are broadcast as if there were no batch, wherever that lies."""
    n = min(len(first), len(second))
    for d in range(1, n + 1):
        if first[-d] != second[-d] and 1 not in (first[-d], second[-d]):
            second[-d] = first[-d]
    dims = [data.draw(st.one_of(st.none(), st.integers(-len(s) - 1, len(s)))) for s in (first, second)]
    if dims == [None, None]:
        dims[0] = 0
    dtypes = [data.draw(st.sampled_from(["float32", "float64", "int64"])) for _ in dims]

    def program(torch):
        given = []
        for seed, (shape, dim, dtype) in enumerate(zip((first, second), dims, dtypes)):
            whole = list(shape)
            if dim is not None:
                whole.insert(dim if dim >= 0 else len(whole) + 1 + dim, size)
            given.append((numbers(torch, tuple(whole), seed) * 3).to(getattr(torch, dtype)))
        return torch.func.vmap(lambda a, b: (a * b + 1, torch.maximum(a, b), a > b), in_dims=tuple(dims))(*given)

    agree(program, rtol=1e-5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_dimensions_under_vmap(shape, data):
    """Dimensions are counted without the batch."""
    at = data.draw(st.integers(-len(shape) - 1, len(shape)))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    other = data.draw(st.integers(-len(shape), len(shape) - 1))
    whole = list(shape)
    whole.insert(at if at >= 0 else len(whole) + 1 + at, 2)

    def function(torch, x):
        return (
            x.sum(dim), x.cumsum(dim), x.amax(dim, keepdim=True), x.argmin(dim), x.transpose(dim, other), x.argmax(),
            x.select(dim, 0), x.flip(dim), x.unbind(dim)[-1], torch.stack([x, x], dim), x.sort(dim).indices,
            x.flatten(), x.movedim(dim, other), x.narrow(dim, 0, 1), x.repeat_interleave(2, dim), x.logsumexp(dim),
            x.unsqueeze(dim),
        )  # fmt: skip

    agree(lambda torch: torch.func.vmap(lambda x: function(torch, x), in_dims=at)(numbers(torch, tuple(whole))))


# ---- in place, creation, structures


def filled(torch, x):
    made = torch.zeros_like(x)
    made[0] = x[1] * 2
    made[1:] += x[1:]
    made.mul_(x)
    made[:, 0].zero_()
    return made


def test_writing_in_place():
    agree(lambda torch: along(torch, filled, numbers(torch, (3, 4))))
    agree(lambda torch: torch.func.vmap(lambda x: filled(torch, x))(numbers(torch, (2, 3, 4))))
    agree(lambda torch: torch.func.vmap(lambda x: along(torch, filled, x))(numbers(torch, (2, 3, 4))))


def test_writing_what_moves_into_a_plain_tensor():
    def into_zeros(torch, x):
        made = torch.zeros(3, 4, dtype=torch.float64)
        made[1] = x[0].sin()
        made[2].copy_(x[1])
        return made * x

    agree(lambda torch: along(torch, into_zeros, numbers(torch, (3, 4))))


def test_writing_to_the_argument():
    def program(torch):
        x = numbers(torch, (2, 3))
        out = torch.func.vmap(lambda row: row.add_(row.sum()))(x)
        return x, out

    agree(program)


def test_containers():
    Pair = namedtuple("Pair", "a b")

    def f(torch, d):
        return {"out": Pair(d["x"] * d["y"][0], [d["x"].sum()])}

    def jvp(torch):
        point = {"x": numbers(torch, (3,)), "y": (numbers(torch, (3,), 1),)}
        return torch.func.jvp(lambda d: f(torch, d), (point,), (point,))

    def vmap(torch):
        point = {"x": numbers(torch, (3, 2)), "y": (numbers(torch, (3,), 1),)}
        dims = {"in_dims": ({"x": 1, "y": None},), "out_dims": {"out": Pair(1, 0)}}
        return torch.func.vmap(lambda d: f(torch, d), **dims)(point)

    agree(jvp)
    agree(vmap)
    assert type(jvp(torchlite)[0]["out"]) is Pair


def test_results_that_do_not_depend_on_the_arguments():
    agree(lambda torch: torch.func.vmap(lambda x: torch.ones(2))(numbers(torch, (3, 2))))

    def constant(torch, x):
        return x.detach() * 2, x.argmax(), torch.ones(2)

    agree(lambda torch: torch.func.vmap(lambda x: torch.ones(2), out_dims=None)(numbers(torch, (3, 2))))
    agree(lambda torch: along(torch, constant, numbers(torch, (3, 2))))


def test_aux():
    def program(torch):
        x = numbers(torch, (3,))
        return torch.func.jvp(lambda x: (x * 2, {"more": x.sin()}), (x,), (x,), has_aux=True)

    agree(program)


def test_names():
    assert torchlite.vmap is torchlite.func.vmap
    assert torchlite.func.vmap(filled).__name__ == "filled"


def test_printing():
    def shown(torch):
        seen = []
        x = torch.ones(2, 3)
        torch.func.vmap(lambda x: torch.func.jvp(lambda x: (seen.append(repr(x)), x)[1], (x,), (x,)))(x)
        torch.func.jvp(torch.func.vmap(lambda x: (seen.append(repr(x)), x)[1]), (x,), (x,))
        return seen

    assert shown(torchlite) == shown(torch)


def test_fallback_is_right_and_warns():
    x = numbers(torchlite, (3, 10), dtype="float32")
    with pytest.warns(UserWarning, match=re.escape("batching rule for aten::histc.")):
        found = torchlite.vmap(lambda x: torchlite.histc(x, 4, -2, 2))(x)
    assert found.tolist() == [torchlite.histc(row, 4, -2, 2).tolist() for row in x]


def test_fallback_can_be_switched_off():
    switches, x = torchlite._C._functorch, torchlite.ones(2, 3)
    assert switches._is_vmap_fallback_enabled()
    try:
        switches._set_vmap_fallback_warning_enabled(False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torchlite.vmap(torchlite.histc)(x)
        switches._set_vmap_fallback_enabled(False)
        with pytest.raises(RuntimeError, match="hit the vmap fallback which is currently disabled"):
            torchlite.vmap(torchlite.histc)(x)
        assert torchlite.vmap(torchlite.sin)(x).shape == (2, 3)
    finally:
        switches._set_vmap_fallback_enabled(True)
        switches._set_vmap_fallback_warning_enabled(True)


# ---- errors

BAD_VMAP = {
    "item": lambda torch, x: torch.func.vmap(lambda x: x.sum().item())(x),
    "float": lambda torch, x: torch.func.vmap(lambda x: float(x.sum()))(x),
    "bool": lambda torch, x: torch.func.vmap(lambda x: x if x.sum() > 0 else -x)(x),
    "tolist": lambda torch, x: torch.func.vmap(lambda x: x.tolist())(x),
    "numpy": lambda torch, x: torch.func.vmap(lambda x: x.numpy())(x),
    "write": lambda torch, x: torch.func.vmap(lambda x: torch.zeros(3).copy_(x))(x),
    "nonzero": lambda torch, x: torch.func.vmap(lambda x: x.nonzero())(x),
    "mask": lambda torch, x: torch.func.vmap(lambda x: x[x > 0])(x),
    "number": lambda torch, x: torch.func.vmap(lambda x: 3)(x),
    "none": lambda torch, x: torch.func.vmap(lambda x: None)(x),
    "sizes": lambda torch, x: torch.func.vmap(lambda a, b: a)(x, x[:1]),
    "too few in_dims": lambda torch, x: torch.func.vmap(lambda a, b: a, in_dims=(0,))(x, x),
    "in_dims of a number": lambda torch, x: torch.func.vmap(lambda a, b: a)(x, 3),
    "in_dim out of range": lambda torch, x: torch.func.vmap(lambda a: a, in_dims=2)(x),
    "no in_dims": lambda torch, x: torch.func.vmap(lambda a: a, in_dims=None)(x),
    "odd in_dims": lambda torch, x: torch.func.vmap(lambda a: a, in_dims="x")(x),
    "odd in_dim": lambda torch, x: torch.func.vmap(lambda a: a, in_dims=(0.5,))(x),
    "number for a batch": lambda torch, x: torch.func.vmap(lambda a: a)(x[0, 0]),
    "out_dim out of range": lambda torch, x: torch.func.vmap(lambda a: a, out_dims=2)(x),
    "no out_dim": lambda torch, x: torch.func.vmap(lambda a: a, out_dims=None)(x),
    "odd out_dims": lambda torch, x: torch.func.vmap(lambda a: a, out_dims="x")(x),
    "too many out_dims": lambda torch, x: torch.func.vmap(lambda a: a, out_dims=(0, 0))(x),
    "no arguments": lambda torch, x: torch.func.vmap(lambda: x)(),
    "randomness": lambda torch, x: torch.func.vmap(lambda a: a, randomness="x")(x),
    "shape": lambda torch, x: torch.func.vmap(lambda a: a.view(2, 2))(x),
    "dimension": lambda torch, x: torch.func.vmap(lambda a: a.sum(1))(x),
}
BAD_JVP = {
    "no tuple": lambda torch, x: torch.func.jvp(torch.sin, x, x),
    "structure": lambda torch, x: torch.func.jvp(torch.sin, (x,), (x, x)),
    "keys": lambda torch, x: torch.func.jvp(lambda d: d["a"], ({"a": x, "b": x},), ({"a": x},)),
    "shape": lambda torch, x: torch.func.jvp(torch.sin, (x,), (x[0],)),
    "integers": lambda torch, x: torch.func.jvp(torch.neg, (x.long(),), (x.long(),)),
    "number": lambda torch, x: torch.func.jvp(torch.sin, (3,), (x,)),
    "numbers": lambda torch, x: torch.func.jvp(torch.sin, (x,), (3,)),
    "result": lambda torch, x: torch.func.jvp(lambda x: 3, (x,), (x,)),
    "aux": lambda torch, x: torch.func.jvp(lambda x: x, (x,), (x,), has_aux=True),
    "strict": lambda torch, x: torch.func.jvp(lambda x: torch.ones(2), (x,), (x,), strict=True),
    "nothing": lambda torch, x: torch.func.jvp(lambda: 1, (), ()),
    "numpy": lambda torch, x: torch.func.jvp(lambda x: x.numpy(), (x,), (x,)),
}


@pytest.mark.parametrize("program", BAD_VMAP.values(), ids=BAD_VMAP)
def test_vmap_errors(program):
    same_error(lambda torch: program(torch, numbers(torch, (2, 3))))


@pytest.mark.parametrize("program", BAD_JVP.values(), ids=BAD_JVP)
def test_jvp_errors(program):
    same_error(lambda torch: program(torch, numbers(torch, (2, 3))))


def test_an_error_inside_leaves_nothing_behind():
    x = numbers(torchlite, (2, 3))
    made = []

    def broken(x):
        made.append(torchlite.zeros(3, dtype=torchlite.float64).add_(x))
        raise KeyError

    with pytest.raises(KeyError):
        torchlite.func.jvp(broken, (x[0],), (x[1],))
    assert repr(made[0]).startswith("tensor(")
    assert made[0].tolist() == x[0].tolist()
    found = []
    torchlite.vmap(lambda x: (found.append(repr(x)), x)[1])(x)
    assert found[0].startswith("BatchedTensor(lvl=1,")


# ---- random numbers


def noisy(torch, x):
    made = torch.empty_like(x).uniform_() + torch.bernoulli(x.sigmoid())
    return x * made


def test_random_numbers_in_jvp():
    def program(torch):
        torch.manual_seed(0)
        return along(torch, noisy, numbers(torch, (3, 4)))

    agree(program)


def test_the_same_random_numbers_for_every_element():
    torchlite.manual_seed(0)
    first, second = torchlite.vmap(lambda x: torchlite.rand_like(x), randomness="same")(torchlite.ones(2, 3))
    assert first.equal(second)


def test_different_random_numbers_for_every_element():
    torchlite.manual_seed(0)
    first, second = torchlite.vmap(lambda x: torchlite.randn_like(x), randomness="different")(torchlite.ones(2, 3))
    assert not first.equal(second)


def test_no_random_numbers():
    same_error(lambda torch: torch.func.vmap(lambda x: noisy(torch, x))(numbers(torch, (2, 3))))


def test_no_reference_cycles():
    x = numbers(torchlite, (3, 4))

    def f(x):
        return x.softmax(0) * filled(torchlite, x.reshape(2, 2)).sum()

    program = torchlite.vmap(lambda x: torchlite.func.jvp(f, (x,), (x,)))
    assert uncollected(lambda: program(x)) == []
