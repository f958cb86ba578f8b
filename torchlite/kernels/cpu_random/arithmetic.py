"""Words to uniform numbers, and arithmetic that rounds as PyTorch's CPU kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...core.native import in_c

F4, F8, I4, I8, U4, U8 = np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64

# 0-dim arrays, because ufuncs take them faster than Python numbers.
LOW_24 = np.array(0xFFFFFF, U4)
_LOW_21 = np.array(0x1FFFFF, U4)
_2_M24 = np.array(2.0**-24, F4)
_2_32 = np.array(2.0**32)
_2_M53 = np.array(2.0**-53)
_32 = np.array(32, U8)
_ZERO = np.array(0, F4)


def unit_floats(words: np.ndarray) -> np.ndarray:
    """float32 in [0, 1): the low 24 bits of each word."""
    floats = (words & LOW_24).view(I4).astype(F4)
    floats *= _2_M24
    return floats


def unit_doubles(words: np.ndarray) -> np.ndarray:
    """float64 in [0, 1): the low 53 bits of each pair of words, the first word high."""
    doubles = (words[0::2] & _LOW_21).view(I4).astype(F8)
    doubles *= _2_32
    doubles += words[1::2]
    doubles *= _2_M53
    return doubles


def ones_below(words: np.ndarray, limit: float, dtype: np.dtype) -> np.ndarray:
    """Ones where the uniform number of a pair of words is below a limit, else zeros."""
    return (unit_doubles(words) < limit).astype(dtype)


unit_floats = in_c("unit_floats", unit_floats)
unit_doubles = in_c("unit_doubles", unit_doubles)
ones_below = in_c("ones_below", ones_below)


def long_words(words: np.ndarray) -> np.ndarray:
    """uint64 of each pair of words, the first word high."""
    long = words[0::2].astype(U8)
    long <<= _32
    long |= words[1::2]
    return long


def libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """The C library's function, whose last bit NumPy's own does not always share."""
    return np.fromiter(map(function, x.tolist()), F8, x.size)


_LARGEST_EXPONENT = math.log(np.finfo(F8).max)


def exp(x: float) -> float:
    return math.inf if x > _LARGEST_EXPONENT else math.exp(x)


def multiply_add(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """x * scale + shift, rounded once to x's dtype (float32 or float64), in which scale and shift are taken."""
    if scale == 1 or shift == 0:  # one of the two operations is exact
        return (x if scale == 1 else x * np.array(scale, x.dtype)) + (np.array(shift, x.dtype) if shift else _ZERO)
    if x.dtype == F4:
        wide = x.astype(F8)
        wide *= float(F4(scale))
        wide += float(F4(shift))
        return wide.astype(F4)
    return _double_multiply_add(x, scale, shift)


multiply_add = in_c("multiply_add", multiply_add)


def _double_multiply_add(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    # Dekker's product and Knuth's sum carry their rounding errors along; numbers brought near 1 keep them in range.
    exponent = math.frexp(max(abs(scale), abs(shift)))[1]
    scale, shift = math.ldexp(scale, -exponent), math.ldexp(shift, -exponent)
    x_high, x_low = _split(x)
    scale_high, scale_low = _split(scale)
    product = x * scale
    error = ((x_high * scale_high - product) + x_high * scale_low + x_low * scale_high) + x_low * scale_low
    total = product + shift
    added = total - product
    error += (product - (total - added)) + (shift - added)
    return np.ldexp(total + error, exponent)


def _split(x: np.ndarray | float) -> tuple[np.ndarray | float, np.ndarray | float]:
    """The two halves of the digits of a float64."""
    spread = x * 134217729.0
    high = spread - (spread - x)
    return high, x - high
