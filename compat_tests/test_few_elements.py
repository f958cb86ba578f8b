"""Calls on few elements, for which the pure package has kernels by form: PyTorch's values, the same at each call."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import torchlite
from torchlite.core.native import native
from torchlite.core.values.device import get_backend
from torchlite.kernels.few import FITS, ByForm

torch = pytest.importorskip("torch")

SHAPES = ((4, 4), (1, 3), (3, 1), (5, 32), (2, 33), (40, 30), (3,), (2, 3, 4))
WILD = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e15, -1e15)
TIMES = 3  # in general, with a plan being made, and by plan

CALLS = {
    "softmax": lambda lib, x: lib.softmax(x, -1),
    "softmax, first": lambda lib, x: lib.softmax(x, 0),
    "_softmax": lambda lib, x: lib._softmax(x, x.dim() - 1, False),
    "log_softmax": lambda lib, x: lib.nn.functional.log_softmax(x, -1),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, x.shape[-1:], row(x), None, 0.1),
    "layer_norm, biased": lambda lib, x: lib.nn.functional.layer_norm(x, x.shape[-1:], None, row(x) * 0),
    "max along": lambda lib, x: x.max(-1),
    "min along, kept": lambda lib, x: x.min(-1, keepdim=True),
    "min along": lambda lib, x: x.min(-1),
    "index": lambda lib, x: x[places(lib, x) % x.shape[0] - 1],
    "embedding": lambda lib, x: lib.nn.functional.embedding(classes(lib, x) % len(x), x.reshape(len(x), -1)),
    "stack": lambda lib, x: lib.stack([x, x * 2]),
    "stack, last": lambda lib, x: lib.stack([x, x * 2], -1),
    "cat": lambda lib, x: lib.cat([x, x * 2]),
    "cat, last": lambda lib, x: lib.cat([x, x * 2], -1),
    "linear": lambda lib, x: lib.nn.functional.linear(x.abs(), large(x), large(x)[:, 0]),
    "cumsum": lambda lib, x: x.cumsum(0),
    "cumsum, last": lambda lib, x: x.cumsum(-1),
    "max": lambda lib, x: x.max(),
    "min": lambda lib, x: x.min(),
    "var": lambda lib, x: x.var(),
    "std": lambda lib, x: x.std(correction=0),
    "all": lambda lib, x: (x == x).all(),
    "lerp": lambda lib, x: lib.lerp(x, x + 1, 0.25),
    "lerp, nearer to the end": lambda lib, x: lib.lerp(x, x * 2, 0.75),
    "gather": lambda lib, x: x.gather(x.dim() - 1, places(lib, x)),
    "gather, first": lambda lib, x: x.gather(0, places(lib, x) % x.shape[0]),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x.reshape(-1, x.shape[-1]), classes(lib, x)),
    "nll_loss, sum": lambda lib, x: lib.nn.functional.nll_loss(
        x.reshape(-1, x.shape[-1]), classes(lib, x), ignore_index=0, reduction="sum"
    ),
}  # fmt: skip


def row(x: Any) -> Any:
    return x[(0,) * (x.dim() - 1)]


def large(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])[:3].abs()


def places(lib: Any, x: Any) -> Any:
    return (lib.arange(x.numel()) % x.shape[-1]).reshape(x.shape)


def classes(lib: Any, x: Any) -> Any:
    return lib.arange(x.numel() // x.shape[-1]) % x.shape[-1]


def results(lib: Any, name: str, numbers: np.ndarray, transposed: bool) -> list[np.ndarray]:
    x = lib.from_numpy(numbers.copy())
    made = CALLS[name](lib, x.transpose(0, -1) if transposed else x)
    return [t.numpy() for t in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_values_are_pytorchs_whatever_they_are(name: str) -> None:
    draw = np.random.default_rng(0)
    kinds = [("f4", None, False), ("f8", None, False), ("f4", None, True), *[("f4", wild, False) for wild in WILD]]
    for shape, (dtype, wild, transposed) in itertools.product(SHAPES, kinds):
        numbers = draw.normal(0, 3, shape).astype(dtype)
        if wild is not None:
            numbers.reshape(-1)[draw.integers(numbers.size)] = wild
        wanted = results(torch, name, numbers, transposed)
        found = [results(torchlite, name, numbers, transposed) for _ in range(TIMES)]
        case = f"{shape} {dtype} {wild} {transposed}"
        near = {"rtol": 3e-6, "atol": 1e-6} if dtype == "f4" else {"rtol": 1e-12, "atol": 1e-14}
        for one, other in zip(found[0], wanted, strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype, case
            np.testing.assert_allclose(one, other, **near, err_msg=case)
        for again in found[1:]:
            assert [a.tobytes() for a in again] == [a.tobytes() for a in found[0]], case


@pytest.mark.parametrize("times", range(TIMES))
def test_what_is_out_of_bounds_is_refused_each_time(times: int) -> None:
    for lib in (torch, torchlite):
        x, wrong = lib.ones(2, 3), lib.tensor([0, 3])
        for _ in range(times):
            lib.nn.functional.nll_loss(x, lib.tensor([0, 1]))
            x.gather(1, lib.tensor([[0], [1]]))
            lib.nn.functional.embedding(lib.tensor([0, 1]), x)
            assert x[lib.tensor([0, -1])].shape == (2, 3)
        with pytest.raises(IndexError, match="Target 3 is out of bounds"):
            lib.nn.functional.nll_loss(x, wrong)
        with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 1 with size 3"):
            x.gather(1, wrong[:, None])
        with pytest.raises(RuntimeError, match="index -1 is out of bounds for dimension 1 with size 3"):
            x.gather(1, lib.tensor([[-1], [0]]))
        with pytest.raises(IndexError, match="index out of range in self"):
            lib.nn.functional.embedding(lib.tensor([0, -1]), x)
        with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 2"):
            x[wrong]
        ignored = lib.nn.functional.nll_loss(x, lib.tensor([-100, 1]))
        assert ignored.item() == -1


@pytest.mark.skipif(native is not None, reason="kernels are in C")
def test_plans_hold_the_kernels_for_few_elements() -> None:
    rows, backend = np.ones((4, 4), np.float32), get_backend(torchlite.device("cpu"))
    kernel = ByForm(len, FITS["softmax.int"])
    assert backend.fitted(kernel, (rows, 1)) is not len
    assert backend.fitted(kernel, (rows, 0)) is backend.fitted(kernel, (rows.repeat(9, 1), 1)) is len


NO_DIMENSIONS = {
    "lerp": lambda lib, x: lib.lerp(x, x + 1, 0.25),
    "max": lambda lib, x: x.max(),
    "max along": lambda lib, x: x.max(0)[0],
    "var": lambda lib, x: x.var(correction=0),
    "softmax": lambda lib, x: x.softmax(0),
    "cumsum": lambda lib, x: x.cumsum(0),
    "all": lambda lib, x: (x > 1).all(),
    "stack": lambda lib, x: lib.stack([x, x]),
}


@pytest.mark.parametrize("name", NO_DIMENSIONS)
def test_tensors_without_dimensions(name: str) -> None:
    wanted, *found = [NO_DIMENSIONS[name](lib, lib.tensor(2.5)) for lib in (torch, *[torchlite] * TIMES)]
    assert [(t.item() if t.dim() == 0 else t.tolist(), t.shape) for t in found] == [
        (wanted.item() if wanted.dim() == 0 else wanted.tolist(), tuple(wanted.shape))
    ] * TIMES
