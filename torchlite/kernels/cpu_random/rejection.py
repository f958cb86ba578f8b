"""Laws drawn by trial and error: Poisson, binomial, gamma.

How many uniforms a number takes is known only once it is drawn, so these go number by number, in Python floats.
`uniform` and `normal` give the next uniform in [0, 1) and the next standard normal. Where PyTorch computes in the
tensor's own dtype, so does the part that is done for all numbers beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import F4, F8, libm

if TYPE_CHECKING:
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


def binomial(counts: np.ndarray, probabilities: np.ndarray, uniform: Source) -> np.ndarray:
    """Successes in so many trials, in the dtype (float32 or float64) of both."""

    def rounded(x: float) -> float:
        return float(counts.dtype.type(x))

    rarer = np.where(probabilities > 0.5, 1 - probabilities, probabilities)  # of success and failure
    log_other = libm(_log1p, -rarer.astype(F8)).astype(counts.dtype)
    deviation = np.sqrt(counts * rarer * (1 - rarer))
    odds, mode = rarer / (1 - rarer), np.floor((counts + 1) * rarer)
    columns = (counts, probabilities, rarer, counts * rarer, log_other, deviation, odds, mode)
    successes = np.empty(counts.size, counts.dtype)
    for i, (n, p, q, mean, log_other_, deviation_, odds_, mode_) in enumerate(zip(*[c.tolist() for c in columns])):
        if n <= 0 or p <= 0:
            successes[i] = 0
        elif p >= 1:
            successes[i] = n
        elif math.isnan(p):
            successes[i] = math.nan
        else:
            if mean >= 10:
                k = _binomial_by_rejection(n, q, mean, deviation_, odds_, mode_, rounded, uniform)
            else:
                k = _binomial_by_waiting(n, log_other_, uniform)
            successes[i] = n - k if p > 0.5 else k
    return successes


def _log1p(x: float) -> float:
    return math.log1p(x) if x > -1 else math.nan


def _binomial_by_waiting(n: float, log_other: float, uniform: Source) -> float:
    trials, successes = 0.0, 0
    while True:
        trials += _ceil(_log(uniform()) / log_other)
        if trials > n:
            return successes
        successes += 1


def _binomial_by_rejection(
    n: float, p: float, mean: float, deviation: float, odds: float, mode: float, rounded: Callable[[float], float],
    uniform: Source,
) -> float:  # fmt: skip
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = mean + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u = uniform() - 0.5
        v = uniform()
        us = 0.5 - abs(u)
        k = rounded(_floor((2 * a / us + b) * u + c))
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        next_k, failures = rounded(k + 1), rounded(rounded(n - k) + 1)
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / failures)
            + (k + 0.5) * math.log(odds * failures / next_k)
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


_STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    """What Stirling's formula lacks of log k!."""
    if k <= 9:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _ceil(x: float) -> float:
    return float(math.ceil(x)) if math.isfinite(x) else x


# Gamma: Marsaglia and Tsang (2000), with some of PyTorch's constants in float32.

_THIRD = float(F4(1) / F4(3))
_SQUEEZE = float(F4(0.0331))


def standard_gamma(alphas: np.ndarray, uniform: Source, normal: Source) -> np.ndarray:
    """Gamma numbers of scale 1 as float64; the alphas' dtype is the one that PyTorch takes them in."""
    inverse = 1 / alphas
    shape = np.where(alphas < 1, alphas + 1, alphas)
    d = shape - alphas.dtype.type(_THIRD)
    gammas = np.zeros(alphas.size)
    for i, (alpha, inverse_, d_) in enumerate(zip(alphas.tolist(), inverse.tolist(), d.tolist())):
        if alpha:
            scale = _power(1 - uniform(), inverse_) if alpha < 1 else 1.0
            gammas[i] = scale * d_ * _marsaglia_tsang(d_, uniform, normal)
    return gammas


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.inf


def _marsaglia_tsang(d: float, uniform: Source, normal: Source) -> float:
    c = 1 / math.sqrt(9 * d) if d > 0 else math.nan
    while True:
        x = normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - uniform()
        xx = x * x
        if u < 1 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + _log(v)):
            return v


def row_sums(rows: np.ndarray) -> np.ndarray:
    """Sums of float64 rows, as a column, in the order in which PyTorch adds (to 256 terms, then nearly so)."""
    lanes = rows.shape[1] // 4 * 4
    vectors = [rows[:, i : i + 4] for i in range(0, lanes, 4)]
    unrolled = len(vectors) // 4 * 4
    partial = [sum(vectors[i:unrolled:4]) for i in range(4)]
    partial[0] = sum(vectors[unrolled:], partial[0])
    columns = np.hstack([rows[:, lanes:], np.broadcast_to(sum(partial), (len(rows), 4))])
    return np.cumsum(columns, axis=1)[:, -1:]
