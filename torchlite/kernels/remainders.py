"""Remainders and whole quotients of many float32 numbers, by way of float64.

The C library divides bit by bit. In float64, a quotient of two float32 numbers that is below 2**28 is told from the
integers around it, its whole part times the divisor is exact, and so is what remains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.values import Array, Namespace

_F4 = np.dtype(np.float32)
_MANY = 512
_PIECE = 2**13  # numbers that stay in the cache with what is between
_FAR = 2.0**28


def _fmod(a: np.ndarray, b: np.ndarray) -> Any:
    wide, divisor = a.astype(np.float64), b.astype(np.float64)
    quotient = np.trunc(wide / divisor)
    odd = ~(np.abs(quotient) < _FAR) | np.isinf(divisor)
    made = np.copysign(wide - quotient * divisor, wide).astype(_F4)
    if odd.any():
        made[odd] = np.fmod(a[odd], b[odd])
    return made


def _remainder(a: np.ndarray, b: np.ndarray) -> Any:
    made = _fmod(a, b)
    made += (b.view(np.int32) & -_beyond(made, b).astype(np.int32)).view(_F4)  # by bits, as nobody foresees the signs
    return made


def _floor_divide(a: np.ndarray, b: np.ndarray) -> Any:
    left = _fmod(a, b)
    quotient = (a - left) / b - _beyond(left, b)
    whole = np.floor(quotient)
    whole += quotient - whole > 0.5
    exact = a / b
    return np.where(b == 0, exact, np.copysign(whole, exact))


def _beyond(left: np.ndarray, b: np.ndarray) -> Any:
    """Where a quotient was rounded up, as what remains says, which has the other sign."""
    return (left != 0) & ((left < 0) != (b < 0))


_FORMULAS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "fmod": _fmod, "remainder": _remainder, "floor_divide": _floor_divide,
}  # fmt: skip


def divided(xp: Namespace, name: str, a: Array, b: Any) -> Any:
    """What the function of this name gives, but for the signs of remainders that are zero."""
    if xp.ndarray is not np.ndarray or a.size < _MANY or a.dtype != _F4 or not a.flags.c_contiguous:
        return getattr(xp, name)(a, b)
    if b.__class__ is int or b.__class__ is float:
        b = np.asarray(b, _F4)
    if b.dtype != _F4 or not b.flags.c_contiguous or b.shape not in ((), a.shape):
        return getattr(xp, name)(a, b)
    formula, made = _FORMULAS[name], np.empty_like(a)
    numbers, out = a.reshape(-1), made.reshape(-1)
    divisors = b.reshape(-1) if b.ndim else np.broadcast_to(b, a.size)
    for start in range(0, out.size, _PIECE):
        piece = slice(start, start + _PIECE)
        out[piece] = formula(numbers[piece], divisors[piece])
    return made
