"""Errors against the truth, and when one is worth telling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ..parity.neutral import numpy_dtype

_FACTOR = 2  # by which torchlite's error may exceed PyTorch's,
_ROUNDINGS = 4  # after so many roundings


@dataclass(frozen=True)
class Verdict:
    """What is worse in one of a call's results."""

    text: str
    ratio: float


def verdicts(ours: list[Any], theirs: list[Any], truths: list[Any], each: bool) -> Iterator[Verdict]:
    """Compares arrays one by one. ``each``: every element counts by its own size, not only by that of the largest."""
    for one, other, truth in zip(ours, theirs, truths):
        if one is None or other is None or truth is None or one.shape != truth.shape or other.shape != truth.shape:
            continue
        if one.size and one.dtype.name in ("float16", "bfloat16", "float32", "float64"):
            yield from _compared(one, other, np.asarray(truth, np.float64), each)


def _compared(one: np.ndarray, other: np.ndarray, truth: np.ndarray, each: bool) -> Iterator[Verdict]:
    info = ml_dtypes.finfo(numpy_dtype(one.dtype.name))
    eps, tiny, most = float(info.eps), float(info.tiny), float(info.max)
    ours, theirs = one.astype(np.float64), other.astype(np.float64)
    kinds = [_kind(array) for array in (ours, theirs, truth)]
    fits = np.abs(truth) < most * (1 - 4 * eps)
    wrong = (kinds[1] == kinds[2]) & (kinds[0] != kinds[2]) & (fits | (kinds[2] != 0))
    if wrong.any():
        at = np.flatnonzero(wrong)[0]
        yield Verdict(f"{ours.flat[at]} where PyTorch has {theirs.flat[at]}, truth {truth.flat[at]:.6g}", np.inf)
    known = (kinds[0] == 0) & (kinds[1] == 0) & (kinds[2] == 0) & fits
    if not known.any():
        return
    ours, theirs, truth = ours[known], theirs[known], truth[known]
    sizes = np.maximum(np.abs(truth), tiny)
    scales = [sizes, sizes.max()]
    worst = [(np.abs(ours - truth) / scale, np.abs(theirs - truth) / scale) for scale in scales]
    worse = [a.max() > _FACTOR * b.max() + _ROUNDINGS * eps for a, b in worst]
    if worse[0] and (each or worse[1]):
        a, b = worst[0]
        at = int(a.argmax())
        values = f"{ours[at]:.6g} where PyTorch has {theirs[at]:.6g}, truth {truth[at]:.6g}"
        yield Verdict(f"{values}; errors {a.max():.1e}, {b.max():.1e}", float(a.max() / max(b.max(), eps)))


def _kind(array: np.ndarray) -> np.ndarray:
    """0 for numbers, 1 and -1 for infinities, 2 for NaN."""
    return np.where(np.isnan(array), 2, np.where(np.isinf(array), np.sign(array), 0))
