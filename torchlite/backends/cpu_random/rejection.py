"""Laws drawn by trial and error: Poisson, binomial, gamma.

How many uniforms a number takes is known only once it is drawn, so these go number by number, in Python floats. `uniform`
and `normal` give the next uniform in [0, 1) and the next standard normal. Where PyTorch computes in the tensor's own dtype,
so does the part that is done for all numbers beforehand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import F4, F8, libm

if TYPE_CHECKING:
    from collections.abc import Callable

    Source = Callable[[], float]


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


# Poisson: by products of uniforms for small rates, else Hörmann's transformed rejection (PTRS, 1993).


def poisson(rates: np.ndarray, uniform: Source) -> np.ndarray:
    """Counts as float64, converted from int64 as PyTorch's are."""
    counts = np.empty(rates.size)
    for i, rate in enumerate(rates.tolist()):
        if not rate >= 0:
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        if rate >= 10:
            counts[i] = _poisson_by_rejection(rate, uniform)
        else:
            counts[i] = _poisson_by_products(rate, uniform) if rate else 0
    return counts.astype(np.int64).astype(F8)


def _poisson_by_products(rate: float, uniform: Source) -> int:
    limit = math.exp(-rate)
    count, product = 0, uniform()
    while product > limit:
        count += 1
        product *= uniform()
    return count


def _poisson_by_rejection(rate: float, uniform: Source) -> float:
    log_rate = _log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        k = _floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


# Binomial: by geometric waiting times for small means, else Hörmann's transformed rejection (BTRS, 1993).


def binomial(counts: np.ndarray, p: np.ndarray, uniform: Source) -> np.ndarray:
    """Successes in `counts` trials, in the dtype (float32 or float64) of both."""
    flipped = p > 0.5
    q = np.where(flipped, 1 - p, p)
    means = counts * q
    by_rejection = means >= 10
    log_failure = libm(_log1p, -q.astype(F8)).astype(q.dtype)
    drawn = np.zeros(counts.size)
    columns = [a.tolist() for a in (counts, q, means, log_failure, by_rejection)]
    for i in np.flatnonzero((counts > 0) & (p > 0) & (p < 1)).tolist():
        n, q_, mean, log_failure_, large = [column[i] for column in columns]
        drawn[i] = _binomial_by_rejection(n, q_, mean, uniform) if large else _binomial_by_waiting(n, log_failure_, uniform)
    drawn = drawn.astype(counts.dtype)
    drawn = np.where(flipped & (p < 1), counts - drawn, drawn)
    drawn = np.where((p >= 1) & (counts > 0), counts, drawn)
    return np.where(np.isnan(p) & ~(counts <= 0), p, drawn)
