"""Standard normals by Box and Muller's method, in blocks of 16: 8 uniforms for the radius, then 8 for the angle.

In float32 PyTorch takes logarithm, sine and cosine by polynomials (Cephes') in fused multiply-adds. Here a fused step
is done in float64, where the product of two float32 numbers is exact, and rounded to float32 at its end. Each function
has only 2**24 arguments; the roundings here agree with PyTorch's on all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import F4, F8, I4, I8, LOW_24, U4, libm

if TYPE_CHECKING:
    from collections.abc import Iterable

_EIGHT = {size: np.dtype((np.void, 8 * size)) for size in (4, 8)}


def split_blocks(numbers: np.ndarray) -> np.ndarray:
    """Two rows: the first and the second halves of whole blocks."""
    return _by_eight(numbers).reshape(-1, 2).T.ravel().view(numbers.dtype).reshape(2, -1)


def join_blocks(rows: np.ndarray, out: np.ndarray) -> None:
    """The inverse of `split_blocks`."""
    _by_eight(out).reshape(-1, 2)[:] = _by_eight(rows).T


def _by_eight(numbers: np.ndarray) -> np.ndarray:
    return numbers.view(_EIGHT[numbers.itemsize])


def normals_of_words(words: np.ndarray) -> np.ndarray:
    """float32 normals from whole blocks of words, split."""
    u1, u2 = split_blocks(words)
    return _times(_radius(u1), *_cos_sin(u2))


def polar(words: np.ndarray) -> np.ndarray:
    """Three rows: radius, cosine and sine of each word."""
    return np.stack([_radius(words), *_cos_sin(words)])


def normals_of_polar(table: np.ndarray) -> np.ndarray:
    """float32 normals from `polar` of whole blocks of words."""
    radius, cos, sin = table.reshape(3, -1, 2, 8)
    normals = np.empty(radius.shape, radius.dtype)
    np.multiply(radius[:, 0], cos[:, 1], out=normals[:, 0])
    np.multiply(radius[:, 0], sin[:, 1], out=normals[:, 1])
    return normals.reshape(-1)


def normals_of_doubles(doubles: np.ndarray) -> np.ndarray:
    """float64 normals from whole blocks of uniforms, split."""
    u1, u2 = split_blocks(doubles)
    radius = np.sqrt(-2 * libm(math.log, 1 - u1))
    angle = 2 * math.pi * u2
    return _times(radius, libm(math.cos, angle), libm(math.sin, angle))


def _times(radius: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    normals = np.empty((2, *radius.shape), radius.dtype)
    np.multiply(radius, cos, out=normals[0])
    np.multiply(radius, sin, out=normals[1])
    return normals.reshape(2, -1)


# Constants are 0-dim arrays, which ufuncs take faster than Python numbers.


def _singles(*values: float) -> list[np.ndarray]:
    """The values rounded to float32, as float64."""
    return [np.array(F4(value), F8) for value in values]


_LOG = _singles(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2_HIGH, _LN2_LOW = np.array(0.693359375, F4), np.array(-2.12194440e-4, F4)
_SIN = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_MINUS_HALF_PI = np.array(-2 * sum(_singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)))
_TURN = np.array(F4(6.2831855) * F4(2.0**-24))
_ONE, _HALF, _MINUS_TWO = np.array(1, F4), np.array(0.5, F4), np.array(-2, F4)
_MINUS_HALF = np.array(-0.5)

_2_24 = np.array(1 << 24, U4)
_SQRT_HALF = np.array(0x3F3504F3, I4)  # the bits of float32 sqrt(1/2)
_SQRT_HALF_2_24 = np.array(0x3F3504F3 + (24 << 23), I4)  # ... times 2**24
_MANTISSA = np.array(0x7FFFFF, I4)
_SIGN = np.array(-(1 << 31), I4)
_EIGHTH_TURN, _QUARTER_TURN = np.array(1 << 21, I4), np.array(1 << 22, I4)
_ROUND_UP, _FLOAT32_BITS = np.array(1 << 28, I8), np.array(-1 << 29, I8)


def _rows(n: int, *dtypes: type) -> list[np.ndarray]:
    """Scratch arrays of n numbers that begin on cache lines, which makes a pass over them a third faster."""
    size = -(-n // 8) * 64
    raw = np.empty(len(dtypes) * size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return [raw[start + i * size :][: n * np.dtype(d).itemsize].view(d) for i, d in enumerate(dtypes)]


def _narrow(double: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Round float64 to float32."""
    np.copyto(out, double, casting="same_kind")
    return out


def _polynomial(x: np.ndarray, coefficients: Iterable[np.ndarray], out: np.ndarray) -> None:
    """Horner's steps out * x + coefficient, each rounded to float32's digits (no argument leads to a tie)."""
    bits = out.view(I8)
    factor, *rest = coefficients
    for coefficient in rest:
        np.multiply(x, factor, out=out)
        out += coefficient
        bits += _ROUND_UP
        bits &= _FLOAT32_BITS
        factor = out


def _radius(words: np.ndarray) -> np.ndarray:
    """sqrt(-2 log(1 - u)) of the words' float32 uniforms u."""
    x, y, m, exponent, s, t = _rows(words.size, F8, F8, F4, F4, F4, F4)
    # 1 - u = (1 + m) * 2**exponent with sqrt(1/2) <= 1 + m < sqrt(2)
    rest = np.bitwise_and(words, LOW_24, out=t.view(U4))
    np.subtract(_2_24, rest, out=rest)
    np.copyto(m, rest.view(I4), casting="unsafe")
    bits = m.view(I4)
    bits -= _SQRT_HALF_2_24
    np.copyto(exponent, np.right_shift(bits, 23, out=s.view(I4)), casting="unsafe")
    bits &= _MANTISSA
    bits += _SQRT_HALF
    m -= _ONE
    # log(1 + m) = m - m**2 / 2 + m**3 * polynomial(m)
    np.copyto(x, m)
    _polynomial(x, _LOG, out=y)
    y *= x
    np.copyto(y, _narrow(y, out=s))
    np.copyto(x, np.multiply(m, m, out=t))
    y *= x
    np.copyto(x, np.multiply(exponent, _LN2_LOW, out=s))
    y += x
    log = _narrow(y, out=s)
    log -= np.multiply(t, _HALF, out=t)
    log += m
    log += np.multiply(exponent, _LN2_HIGH, out=t)
    log *= _MINUS_TWO
    return np.sqrt(log)


def _cos_sin(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of 2 pi u of the words' float32 uniforms u."""
    x, square, y, angle, t, cos, sin = _rows(words.size, F8, F8, F8, F4, F4, F4, F4)
    turn = np.bitwise_and(words, LOW_24).view(I4)
    np.copyto(angle, turn, casting="unsafe")
    angle *= _TURN
    turn += _EIGHTH_TURN
    # Less the nearest multiple of pi/2; exact but for one rounding.
    np.copyto(x, np.right_shift(turn, 22, out=t.view(I4)))
    x *= _MINUS_HALF_PI
    np.copyto(y, angle)
    x += y
    np.copyto(x, _narrow(x, out=angle))
    np.copyto(square, np.multiply(angle, angle, out=t))
    # sin x = x + x**3 * polynomial(x**2), cos x = 1 - x**2 / 2 + x**4 * polynomial(x**2)
    _polynomial(square, _SIN, out=y)
    y *= square
    np.copyto(y, _narrow(y, out=sin))
    y *= x
    y += x
    _narrow(y, out=sin)
    _polynomial(square, _COS, out=y)
    y *= square
    np.copyto(y, _narrow(y, out=cos))
    y *= square
    square *= _MINUS_HALF
    y += square
    _narrow(y, out=cos)
    cos += _ONE
    # In odd quarters of the turn they change places; the sine is negative in its second half, the cosine in the
    # second and third quarter.
    cos_bits, sin_bits, swap = cos.view(I4), sin.view(I4), t.view(I4)
    np.left_shift(turn, 9, out=swap)
    swap >>= 31
    swap &= np.bitwise_xor(cos_bits, sin_bits, out=angle.view(I4))
    cos_bits ^= swap
    sin_bits ^= swap
    sign = np.left_shift(turn, 8, out=swap)
    sign &= _SIGN
    sin_bits ^= sign
    turn += _QUARTER_TURN
    turn <<= 8
    turn &= _SIGN
    cos_bits ^= turn
    return cos, sin
