"""Tensors print as PyTorch prints them, character for character."""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import cycle, islice

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlite
from torchlite.core.machine.format import get_printoptions, printoptions

try:
    import torch
except ImportError:
    torch = None

LIBRARIES = [
    pytest.param(torchlite, id="torchlite"),
    pytest.param(torch, id="torch", marks=pytest.mark.skipif(torch is None, reason="PyTorch is not installed")),
]


@contextmanager
def options(*libraries, **chosen):
    for lib in libraries:
        lib.set_printoptions(**chosen)
    try:
        yield
    finally:
        for lib in libraries:
            lib.set_printoptions(profile="default")


def stale_view(lib):
    """A view whose history is gone: one of several outputs, its base since changed in place."""
    base = lib.ones(2, 2, requires_grad=True).clone()
    view, _ = base.unbind(0)
    base.mul_(2)
    return view


def subclassed(lib, tensor):
    return tensor.as_subclass(type("MyTensor", (lib.Tensor,), {}))


NAN, INF = math.nan, math.inf

LITERALS = [
    # floats: one format for the whole tensor, decided by its finite, nonzero elements
    (lambda lib: lib.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda lib: lib.tensor([1.0, -2.5]), "tensor([ 1.0000, -2.5000])"),
    (lambda lib: lib.tensor([1.0, 1000.0]), "tensor([   1., 1000.])"),
    (lambda lib: lib.tensor([1.0, 1001.0]), "tensor([1.0000e+00, 1.0010e+03])"),
    (lambda lib: lib.tensor([1e-4, 1e-5]), "tensor([1.0000e-04, 1.0000e-05])"),
    (lambda lib: lib.tensor(1e-4, dtype=lib.float64), "tensor(0.0001, dtype=torch.float64)"),
    (lambda lib: lib.tensor([1e8]), "tensor([100000000.])"),
    (lambda lib: lib.tensor([1.1e8]), "tensor([1.1000e+08])"),
    (lambda lib: lib.tensor([0.0, -0.0]), "tensor([0., -0.])"),
    (lambda lib: lib.tensor([-0.0, 10.0]), "tensor([-0., 10.])"),
    (lambda lib: lib.tensor([NAN, INF, -INF]), "tensor([nan, inf, -inf])"),
    (lambda lib: lib.tensor([INF, -INF, 1.5]), "tensor([   inf,   -inf, 1.5000])"),
    (lambda lib: lib.tensor(0.1), "tensor(0.1000)"),
    (lambda lib: lib.tensor(0.3, dtype=lib.bfloat16), "tensor(0.3008, dtype=torch.bfloat16)"),
    (lambda lib: lib.tensor([0.1, 300.0], dtype=lib.float16), "tensor([9.9976e-02, 3.0000e+02], dtype=torch.float16)"),
    # other kinds of number
    (lambda lib: lib.tensor([True, False]), "tensor([ True, False])"),
    (lambda lib: lib.tensor([1, -20]), "tensor([  1, -20])"),
    (lambda lib: lib.tensor([1, 255], dtype=lib.uint8), "tensor([  1, 255], dtype=torch.uint8)"),
    (lambda lib: lib.tensor([1 + 1.5j, -2 - 3j]), "tensor([ 1.+1.5000j, -2.-3.0000j])"),
    (lambda lib: lib.tensor([complex(NAN, -INF), 0j]), "tensor([nan-infj, 0.+0.j])"),
    (lambda lib: lib.tensor(1 - 2.5j), "tensor(1.-2.5000j)"),
    # no elements
    (lambda lib: lib.empty(0), "tensor([])"),
    (lambda lib: lib.empty(0, 3), "tensor([], size=(0, 3))"),
    (lambda lib: lib.empty(0, dtype=lib.int64), "tensor([], dtype=torch.int64)"),
    (lambda lib: lib.empty(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (
        lambda lib: lib.empty((), device="meta", dtype=lib.int64),
        "tensor(..., device='meta', size=(), dtype=torch.int64)",
    ),
    # layout
    (lambda lib: lib.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
    (lambda lib: lib.tensor([[[1]], [[2]]]), "tensor([[[1]],\n\n        [[2]]])"),
    (
        lambda lib: lib.arange(20) * 100,
        "tensor([   0,  100,  200,  300,  400,  500,  600,  700,  800,  900, 1000, 1100,\n"
        "        1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900])",
    ),
    (lambda lib: lib.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (lambda lib: lib.zeros(1).expand(10**12), "tensor([0., 0., 0.,  ..., 0., 0., 0.])"),
    (
        lambda lib: lib.arange(2002).reshape(1001, 2),
        "tensor([[   0,    1],\n        [   2,    3],\n        [   4,    5],\n        ...,\n"
        "        [1996, 1997],\n        [1998, 1999],\n        [2000, 2001]])",
    ),
    # history
    (lambda lib: lib.ones(2, requires_grad=True), "tensor([1., 1.], requires_grad=True)"),
    (lambda lib: lib.ones(2, requires_grad=True) + 1, "tensor([2., 2.], grad_fn=<AddBackward0>)"),
    (stale_view, "tensor([2., 2.], grad_fn=<Invalid>)"),
    (
        lambda lib: lib.ones(9, dtype=lib.float64, requires_grad=True) * 0.5,
        "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)",
    ),
    # subclasses
    (lambda lib: lib.nn.Parameter(lib.ones(1)), "Parameter containing:\ntensor([1.], requires_grad=True)"),
    (lambda lib: subclassed(lib, lib.tensor([[1.0], [2.0]])), "MyTensor([[1.],\n          [2.]])"),
    (lambda lib: lib.ones(2).__repr__(tensor_contents="X"), "tensor(X)"),
]


@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize(("make", "text"), LITERALS, ids=[text for _, text in LITERALS])
def test_literal(lib, make, text):
    made = make(lib)
    assert (made if isinstance(made, str) else repr(made)) == text


@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize(
    ("chosen", "values", "text"),
    [
        ({"precision": 2}, [1.0, 0.123456], "tensor([1.00, 0.12])"),
        ({"precision": 0}, [1.5, 0.2], "tensor([2, 0])"),
        ({"sci_mode": True}, [1.0, 2.0], "tensor([1.0000e+00, 2.0000e+00])"),
        ({"sci_mode": False}, [1.0, 1001.0], "tensor([   1., 1001.])"),
        ({"sci_mode": True}, [0.0, NAN], "tensor([0., nan])"),
        ({"threshold": 4, "edgeitems": 1}, [1, 2, 3, 4, 5], "tensor([1,  ..., 5])"),
        ({"threshold": 4, "edgeitems": 0}, [1, 2, 3, 4, 5], "tensor([...], size=(5,))"),
        ({"linewidth": 14}, [1, 2, 3], "tensor([1, 2,\n        3])"),
        ({"profile": "short"}, [1.25, 10.125], "tensor([ 1.25, 10.12])"),
    ],
)
def test_options(lib, chosen, values, text):
    with options(lib, **chosen):
        assert repr(lib.tensor(values)) == text


def test_profiles_and_their_overrides():
    default = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    assert get_printoptions() == default
    with printoptions(profile="short", precision=7, sci_mode=True):
        assert get_printoptions() == default | {"precision": 7, "edgeitems": 2, "sci_mode": True}
        with printoptions(profile="full"):
            assert get_printoptions() == default | {"threshold": math.inf}
        with printoptions(linewidth=100):
            assert get_printoptions()["sci_mode"] is None
    with pytest.raises(ZeroDivisionError), printoptions(precision=1):
        _ = 1 / 0
    assert get_printoptions() == default


@pytest.mark.parametrize("lib", LIBRARIES)
def test_the_default_dtype_goes_unsaid(lib):
    lib.set_default_dtype(lib.float64)
    try:
        assert repr(lib.tensor([1.0])) == "tensor([1.])"
        assert repr(lib.tensor([1j])) == "tensor([0.+1.j])"
        assert repr(lib.tensor([1.0], dtype=lib.float32)) == "tensor([1.], dtype=torch.float32)"
        assert repr(lib.tensor([1j], dtype=lib.complex64)) == "tensor([0.+1.j], dtype=torch.complex64)"
    finally:
        lib.set_default_dtype(lib.float32)


FLOATS = [
    "float16", "bfloat16", "float32", "float64",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
]  # fmt: skip
INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
COMPLEXES = ["complex64", "complex128"]

reals = (
    st.floats()
    | st.floats(-10, 10)
    | st.integers(-2000, 2000).map(float)
    | st.sampled_from([0.0, -0.0, NAN, INF, -INF, 1e-4, 9.9e-5, 1.0, 1000.0, 1001.0, 1e8, 1.1e8])
)
integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 200)
shapes = st.lists(st.integers(0, 9), max_size=4).filter(lambda shape: math.prod(shape) <= 400)
print_options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.sampled_from([0, 10, 100, math.inf]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(0, 140),
        "sci_mode": st.booleans() | st.none(),
        "profile": st.sampled_from(["default", "short", "full"]),
    },
)


@st.composite
def contents(draw):
    """A dtype's name, and numbers that it holds exactly."""
    name = draw(st.sampled_from(FLOATS + INTEGERS + COMPLEXES))
    if name in FLOATS:
        number, through = reals, np.float64
    elif name in INTEGERS:
        number, through = integers, np.int64
    else:
        number, through = st.builds(complex, reals, reals), np.complex128
    numbers = np.array(draw(st.lists(number, min_size=1, max_size=12)), through)
    with np.errstate(all="ignore"):
        held = numbers.astype(getattr(ml_dtypes, name, name))
    return name, (held.astype(np.float64) if name in FLOATS else held).tolist()


@settings(max_examples=300, deadline=None)
@given(contents(), shapes, print_options, st.booleans())
def test_against_pytorch(content, shape, chosen, requires_grad):
    pytest.importorskip("torch")
    name, numbers = content
    values = list(islice(cycle(numbers), math.prod(shape)))

    def printed(lib):
        tensor = lib.tensor(values, dtype=getattr(lib, name)).reshape(shape)
        return repr(tensor.requires_grad_(requires_grad and name not in INTEGERS))

    with options(torchlite, torch, **chosen):
        assert printed(torchlite) == printed(torch)
