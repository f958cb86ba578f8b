"""The device `strict` computes what CuPy does, and refuses what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from torchlite.testing import strict

INF, NAN = np.inf, np.nan
NUMBERS = {
    "float32": np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3e38, INF, -INF, NAN], np.float32),
    "bfloat16": np.array([0.0, -0.0, 1, -1, 0.5, -2.5, INF, -INF, NAN, 7]).astype(ml_dtypes.bfloat16),
    "complex64": np.array([0, 1, -1, 1j, -1 - 1j, INF, complex(0, INF), 3 + 4j, complex(NAN, 1), 2], np.complex64),
    "int32": np.array([0, 1, -1, 2, -3, 7, 2**31 - 1, -(2**30), 5, 3], np.int32),
    "int64": np.array([0, 1, -1, 2, -3, 7, 2**63 - 1, -(2**62), 5, 3], np.int64),
    "uint8": np.array([0, 1, 2, 3, 7, 8, 9, 127, 255, 5], np.uint8),
}


def _added(xp: Any, x: Any, indices: Any) -> Any:
    xp.add.at(x, indices, x[1:4])
    return x


CALLS: dict[str, Callable[..., Any]] = {
    "power": lambda xp, x, i: xp.power(x[:, None], x[None]),
    "two to it": lambda xp, x, i: 2**x,
    "reciprocal": lambda xp, x, i: xp.reciprocal(x),
    "lcm": lambda xp, x, i: xp.lcm(x[:, None], x[None]),
    "a large number": lambda xp, x, i: x + 300,
    "a fraction": lambda xp, x, i: x + 1.5,
    "where": lambda xp, x, i: xp.where(x != 0, x, 0),
    "round": lambda xp, x, i: xp.round(x),
    "var": lambda xp, x, i: x[:6].var(),
    "std": lambda xp, x, i: x[:6].std(),
    "sort": lambda xp, x, i: xp.sort(x[:6]),
    "cumsum": lambda xp, x, i: x[:6].cumsum(),
    "clip": lambda xp, x, i: xp.clip(x, x[3], x[2]),
    "add.at": _added,
    "indices out of range": lambda xp, x, i: x[i * 9],
}


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, dtype: str) -> None:
    if (name, dtype) == ("reciprocal", "complex64"):
        pytest.skip("for which the backend has a function of its own")
    cupy = pytest.importorskip("cupy")
    found: list[Any] = []
    for xp, made in ((strict.xp, lambda a: strict.StrictArray(a.copy())), (cupy, cupy.asarray)):
        try:
            found.append(CALLS[name](xp, made(NUMBERS[dtype]), made(np.array([0, 0, 2]))).get())
        except Exception as error:  # which the other has to raise as well
            found.append(error)
    ours, theirs = found
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(theirs, Exception) and isinstance(ours, Exception), found
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind == "V":
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    if ours.dtype.kind == "c":  # a number with a NaN is one
        ours, theirs = (np.where(np.isnan(a), NAN, a) for a in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, rtol=1e-2 if dtype == "bfloat16" else 1e-5, equal_nan=True)
