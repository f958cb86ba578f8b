"""Uniform words to numbers, rounded as PyTorch's CPU kernels round.

Those kernels use fused multiply-add and, in float32, polynomials for the logarithm, sine and cosine (Cephes'). A float32
product is exact in float64, so a fused float32 step here is a float64 one, rounded to float32 at its end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F4, F8, I4, U4 = np.float32, np.float64, np.int32, np.uint32

# 0-dim arrays, because ufuncs take them faster than Python numbers.
_LOW_24 = np.array(0xFFFFFF, U4)
_LOW_21 = np.array(0x1FFFFF, U4)
_2_M24 = np.array(2.0**-24, F4)
_2_32 = np.array(2.0**32)
_2_M53 = np.array(2.0**-53)


def unit_floats(words: np.ndarray) -> np.ndarray:
    """float32 in [0, 1): the low 24 bits of each word."""
    floats = (words & _LOW_24).view(I4).astype(F4)
    floats *= _2_M24
    return floats


def unit_doubles(words: np.ndarray) -> np.ndarray:
    """float64 in [0, 1): the low 53 bits of each pair of words, the first word high."""
    doubles = (words[0::2] & _LOW_21).view(I4).astype(F8)
    doubles *= _2_32
    doubles += words[1::2]
    doubles *= _2_M53
    return doubles


def libm(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """The C library's function, whose last bit NumPy's own does not always share."""
    return np.fromiter(map(function, x.tolist()), F8, x.size)


_LARGEST_EXPONENT = math.log(np.finfo(F8).max)


def exp(x: float) -> float:
    return math.inf if x > _LARGEST_EXPONENT else math.exp(x)


def multiply_add(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """x * scale + shift, rounded once to x's dtype (float32 or float64), in which scale and shift are taken."""
    if scale == 1:
        return x + x.dtype.type(shift)
    if shift == 0:
        return x * x.dtype.type(scale) + x.dtype.type(0)
    if x.dtype == F4:
        product = x * F8(F4(scale))
        product += F8(F4(shift))
        return product.astype(F4)
    return _double_multiply_add(x, scale, shift)


def _double_multiply_add(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    # Dekker's product and Knuth's sum carry their rounding errors along; both numbers brought near 1 keep them in range.
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


# Box and Muller's normals: blocks of 16 hold 8 numbers for the radius, then 8 for the angle.

_EIGHT_WORDS = np.dtype((np.void, 32))
_SQRT_HALF = np.array(0x3F3504F3, I4)  # the bits of float32 sqrt(1/2)
_SQRT_HALF_OF_2_24 = np.array(0x3F3504F3 + (24 << 23), I4)
_MANTISSA = np.array(0x7FFFFF, I4)
_2_24 = np.array(1 << 24, U4)
_SIGN = np.array(-(1 << 31), I4)
_EIGHTH_TURN = np.array(1 << 21, I4)
_QUARTER_TURN = np.array(1 << 22, I4)


def _singles(*values: float) -> list[float]:
    """The values rounded to float32."""
    return [float(F4(value)) for value in values]


_LOG = _singles(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2_HIGH, _LN2_LOW = F4(0.693359375), F4(-2.12194440e-4)
_SIN = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTER_PI = sum(_singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8))
_ANGLE = F4(6.2831855) * _2_M24


def _fused(x: np.ndarray, y: np.ndarray | float, addend: np.ndarray | float) -> np.ndarray:
    """x * y + addend for float64 x, rounded once to float32."""
    result = x * y
    result += addend
    return result.astype(F4)


def _horner(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """The polynomial in float32 steps, highest power first."""
    result = _fused(x, coefficients[0], coefficients[1])
    for coefficient in coefficients[2:]:
        result = _fused(result.astype(F8), x, coefficient)
    return result


def _radius(words: np.ndarray) -> np.ndarray:
    """sqrt(-2 log(1 - u)) of the words' float32 uniforms u."""
    rest = (_2_24 - (words & _LOW_24)).view(I4).astype(F4)  # 1 - u, times 2**24
    bits = rest.view(I4) - _SQRT_HALF_OF_2_24
    exponent = (bits >> 23).astype(F4)
    bits &= _MANTISSA
    bits += _SQRT_HALF
    m = bits.view(F4) - F4(1)  # 1 - u = (1 + m) * 2**exponent, sqrt(1/2) <= 1 + m < sqrt(2)
    square = m * m
    y = _horner(m.astype(F8), _LOG) * m
    y = _fused(y.astype(F8), square.astype(F8), exponent * _LN2_LOW)
    square *= F4(0.5)
    y -= square
    y += m
    exponent *= _LN2_HIGH  # exact
    y += exponent
    y *= F4(-2)
    return np.sqrt(y, out=y)


def _cos_sin(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of 2 pi u of the words' float32 uniforms u."""
    turn = (words & _LOW_24).view(I4)
    angle = turn.astype(F4) * _ANGLE
    turn += _EIGHTH_TURN
    quarters = turn >> 22
    x = _fused(quarters.astype(F8), -2 * _QUARTER_PI, angle)  # in [-pi/4, pi/4]; exact before its rounding
    square = x * x
    x_, square_ = x.astype(F8), square.astype(F8)
    cos = (_horner(square_, _COS) * square).astype(F8)
    cos = _fused(cos, square_, square * F4(-0.5)) + F4(1)
    sin = (_horner(square_, _SIN) * square).astype(F8)
    sin = _fused(sin, x_, x)
    # In odd quarters sine and cosine change places; the sine is negative in the second half of the turn, the cosine
    # in its second and third quarter.
    cos_bits, sin_bits = cos.view(I4), sin.view(I4)
    swap = (turn << 9) >> 31
    swap &= cos_bits ^ sin_bits
    cos_bits ^= swap
    sin_bits ^= swap
    sin_bits ^= (turn << 8) & _SIGN
    turn += _QUARTER_TURN
    cos_bits ^= (turn << 8) & _SIGN
    return cos, sin


def polar(words: np.ndarray) -> np.ndarray:
    """Three rows: each word's radius, cosine and sine."""
    return np.stack([_radius(words), *_cos_sin(words)])


def normals_of_polar(table: np.ndarray) -> np.ndarray:
    """float32 standard normals from `polar` of whole blocks of 16 words."""
    blocks = table.reshape(3, -1, 2, 8)
    normals = blocks[1:, :, 1] * blocks[0, :, 0]
    return normals.transpose(1, 0, 2).ravel()


def normals_of_words(words: np.ndarray) -> np.ndarray:
    """float32 standard normals from whole blocks of 16 words."""
    u1, u2 = words.view(_EIGHT_WORDS).reshape(-1, 2).T.ravel().view(U4).reshape(2, -1)
    radius = _radius(u1)
    cos, sin = _cos_sin(u2)
    normals = np.empty((2, radius.size), F4)
    np.multiply(radius, cos, out=normals[0])
    np.multiply(radius, sin, out=normals[1])
    return normals.view(_EIGHT_WORDS).T.ravel().view(F4)


def normals_of_doubles(doubles: np.ndarray) -> np.ndarray:
    """float64 standard normals from whole blocks of 16 uniforms."""
    u1, u2 = doubles.reshape(-1, 2, 8).swapaxes(0, 1).reshape(2, -1)
    radius = np.sqrt(-2 * libm(math.log, 1 - u1))
    angle = 2 * math.pi * u2
    normals = np.stack([radius * libm(math.cos, angle), radius * libm(math.sin, angle)])
    return normals.reshape(2, -1, 8).swapaxes(0, 1).ravel()
