"""Remainders, whole quotients and products of many numbers, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch", reason="compared with real PyTorch")

_SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, 2.0**27, 2.0**28, 2.0**29, 2.0**30 + 64, 3]


def _bits(t: Any) -> list[int]:
    """What the numbers are made of; nan is nan, however it is written."""
    array = t.numpy()
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).view(f"i{array.itemsize}").tolist()


def _pairs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    random, n = np.random.default_rng(0), 20000
    a, b = random.standard_normal((2, n)).astype(np.float32)
    if kind == "special":
        a, b = [v.ravel() for v in np.meshgrid(np.float32(_SPECIAL * 2), np.float32(_SPECIAL * 2))]
    if kind in ("any", "near"):  # of any bits; with exponents alike
        a, b = random.integers(0, 2**32, (2, n), np.uint32)
        b = b & 0x807FFFFF | a & 0x7F800000 if kind == "near" else b
        a, b = a.view(np.float32), b.view(np.float32)
    if kind == "whole":
        a, b = np.round(a * 30), np.round(b * 5)
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


@pytest.mark.parametrize("kind", ["normal", "special", "any", "near", "whole"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_many_at_once_are_as_one_by_one(name: str, kind: str) -> None:
    a, b = [torchlite.from_numpy(v) for v in _pairs(kind)]
    call = getattr(torchlite, name)
    few = torchlite.cat([call(x, y) for x, y in zip(a.split(100), b.split(100))])
    assert _bits(call(a, b)) == _bits(few)
    for number in (0.7, -3, 2.0**-140):
        assert _bits(call(a, number)) == _bits(torchlite.cat([call(x, number) for x in a.split(100)]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [5, 16, 31, 32, 33, 64, 100, 1023, 4096, 50001])
def test_products_are_multiplied_in_pytorchs_order(dtype: str, n: int) -> None:
    array = (np.random.default_rng(n).random((3, n)) * 0.02 + 0.99).astype(dtype)
    ours, theirs = torchlite.from_numpy(array), torch.from_numpy(array)
    for call in (
        lambda t: t[0].prod(), lambda t: t.prod(), lambda t: t.prod(1), lambda t: t.prod(-1, keepdim=True),
    ):  # fmt: skip
        found, wanted = call(ours), call(theirs)
        assert found.shape == wanted.shape and found.stride() == wanted.stride() and _bits(found) == _bits(wanted)
