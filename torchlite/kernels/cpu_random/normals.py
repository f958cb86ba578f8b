"""Standard normals by Box and Muller's method, in blocks of 16: 8 uniforms for the radius, then 8 for the angle.

In float32 PyTorch takes logarithm, sine and cosine by polynomials (Cephes') in fused multiply-adds. Here a fused step
is done in float64, where the product of two float32 numbers is exact, and rounded to float32 at its end. Each function
has only 2**24 arguments; the roundings here agree with PyTorch's on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.native import in_c
from .arithmetic import F4, F8, I4, I8, LOW_24, U4, libm, multiply_add

_EIGHT = {size: np.dtype((np.void, 8 * size)) for size in (4, 8)}


def split_blocks(numbers: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Write the first and the second halves of whole blocks."""
    halves = _by_eight(numbers).reshape(-1, 2)
    _by_eight(first)[:] = halves[:, 0]
    _by_eight(second)[:] = halves[:, 1]


def join_blocks(first: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
    """The inverse of `split_blocks`."""
    halves = _by_eight(out).reshape(-1, 2)
    halves[:, 0] = _by_eight(first)
    halves[:, 1] = _by_eight(second)


def _by_eight(numbers: np.ndarray) -> np.ndarray:
    return numbers.view(_EIGHT[numbers.itemsize])


def normals_of_words(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float32 normals from whole blocks of words, split."""
    doubles, (u1, u2, radius, cos, sin, rest) = _scratch(words.size // 2)
    split_blocks(words, u1.view(U4), u2.view(U4))
    _radius(u1.view(U4), radius, *doubles[:2], cos, sin, rest)
    _cos_sin(u2.view(U4), cos, sin, *doubles, u1, rest, u2)
    cos *= radius
    sin *= radius
    return cos, sin


def fill_normals(out: np.ndarray, words: np.ndarray, mean: float, std: float) -> None:
    """Write float32 normals from whole blocks of words."""
    first, second = [multiply_add(row, std, mean) for row in normals_of_words(words)]
    join_blocks(first, second, out)


fill_normals = in_c("fill_normals", fill_normals)


def polar(words: np.ndarray) -> np.ndarray:
    """Three rows: radius, cosine and sine of each word."""
    doubles, (radius, cos, sin, *singles) = _scratch(words.size)
    _radius(words, radius, *doubles[:2], *singles)
    _cos_sin(words, cos, sin, *doubles, *singles)
    return np.stack([radius, cos, sin])


def normals_of_polar(table: np.ndarray, out: np.ndarray) -> None:
    """float32 normals from `polar` of whole blocks of words."""
    radius, cos, sin = table.reshape(3, -1, 2, 8)
    out = out.reshape(-1, 2, 8)
    np.multiply(radius[:, 0], cos[:, 1], out=out[:, 0])
    np.multiply(radius[:, 0], sin[:, 1], out=out[:, 1])


def normals_of_doubles(doubles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 normals from whole blocks of uniforms, split."""
    u1, u2 = np.empty((2, doubles.size // 2))
    split_blocks(doubles, u1, u2)
    radius = np.sqrt(-2 * libm(math.log, 1 - u1))
    angle = 2 * math.pi * u2
    return radius * libm(math.cos, angle), radius * libm(math.sin, angle)


# Constants are 0-dim arrays, which ufuncs take faster than Python numbers.


def _singles(*values: float, times: float = 1) -> list[float]:
    """The values rounded to float32, then multiplied by a power of two."""
    return [float(F4(value)) * times for value in values]


def _steps(values: Sequence[float], one: float) -> list[np.ndarray]:
    """The coefficients, with a number so large that its sum with the second keeps just the digits float32 has of it."""
    first, second, third = values
    grid = 1.5 * 2.0 ** (math.frexp(second)[1] + 28)
    return [np.array(c, F8) for c in (first, second + grid, grid, third, one)]


# What is computed is -1/2 of a logarithm and twice a sine and cosine: factors that change no rounding and cancel.
_LOG = [
    np.array(c * 4 * (-2) ** (8 - i))
    for i, c in enumerate(_singles(
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ))
]  # fmt: skip
_LN2_HIGH, _LN2_LOW = np.array(0.693359375 / -2, F4), np.array(-2.12194440e-4 / -2, F4)
_SIN = _steps(_singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1, times=2), one=2)
_COS = _steps(_singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, times=2), one=-1)
_MINUS_HALF_PI = np.array(-2 * sum(_singles(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)))
_TURN = np.array(F4(6.2831855) * F4(2.0**-24))
_HALF, _TWO = np.array(0.5, F4), np.array(2, F4)

_HIGH_8 = np.array(0xFF << 24, U4)
_SIGN = np.array(-(1 << 31), I4)
_SQRT_HALF = 0x3F3504F3  # the bits of float32 sqrt(1/2)
_MINUS_SQRT_HALF_2_24 = np.array(_SQRT_HALF + (24 << 23) - (1 << 31), I4)  # ... of its product with -2**24
_MINUS_SQRT_EIGHTH = np.array(_SQRT_HALF - (1 << 23) - (1 << 31), I4)  # ... with -1/2
_MANTISSA = np.array(0x7FFFFF, I4)
_EIGHTH_TURN = np.array(1 << 21, I4)
_QUARTER_OF_2_32 = np.array(1 << 30, I4)
_ROUND_UP, _FLOAT32_BITS = np.array(1 << 28, I8), np.array(-1 << 29, I8)


def _scratch(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three rows of float64 and six of float32, of n numbers each. Passes over rows that begin on cache lines, as these
    do, are a third faster.
    """
    size = -(-n // 16) * 16
    raw = np.empty(12 * 4 * size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    doubles = raw[start:][: 3 * 8 * size].view(F8).reshape(3, size)
    singles = raw[start:][3 * 8 * size : 12 * 4 * size].view(F4).reshape(6, size)
    return doubles[:, :n], singles[:, :n]


def _narrow(double: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Round float64 to float32."""
    np.copyto(out, double, casting="same_kind")
    return out


def _radius(words: np.ndarray, radius: np.ndarray, *scratch: np.ndarray) -> None:
    """Half of sqrt(-2 log(1 - u)) for the words' float32 uniforms u."""
    x, y, m, exponent, t = scratch
    s = radius
    # 1 - u = (1 + x) * 2**exponent with sqrt(1/2) <= 1 + x < sqrt(2), and m = -x / 2
    np.copyto(m, np.bitwise_or(words, _HIGH_8, out=t.view(U4)).view(I4), casting="unsafe")  # (u - 1) * 2**24
    bits = m.view(I4)
    bits -= _MINUS_SQRT_HALF_2_24
    np.copyto(exponent, np.right_shift(bits, 23, out=s.view(I4)), casting="unsafe")
    bits &= _MANTISSA
    bits += _MINUS_SQRT_EIGHTH
    m += _HALF
    # log(1 + x) = x - x**2 / 2 + x**3 * polynomial(x)
    np.copyto(x, m)
    np.multiply(x, _LOG[0], out=y)
    y += _LOG[1]
    digits = y.view(I8)
    for coefficient in _LOG[2:]:
        digits += _ROUND_UP  # rounds to float32's digits, with the next step: there are no ties
        digits &= _FLOAT32_BITS
        y *= x
        y += coefficient
    np.multiply(_narrow(y, out=s), m, out=s)
    np.copyto(y, s)
    np.copyto(x, np.multiply(m, m, out=t))
    y *= x
    np.copyto(x, np.multiply(exponent, _LN2_LOW, out=s))
    y += x
    log = _narrow(y, out=s)
    log += t
    log += m
    exponent *= _LN2_HIGH
    log += exponent
    np.sqrt(log, out=log)


def _cos_sin(words: np.ndarray, cos: np.ndarray, sin: np.ndarray, *scratch: np.ndarray) -> None:
    """Twice the cosine and the sine of 2 pi u for the words' float32 uniforms u."""
    x, square, y, angle, t, turn = scratch
    np.bitwise_and(words, LOW_24, out=turn.view(U4))
    turn = turn.view(I4)
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
    # sin x = x * (1 + x**2 * polynomial(x**2)), cos x = 1 - x**2 * (1 / 2 - x**2 * polynomial(x**2))
    for (first, second, grid, third, one), factor, out in ((_SIN, x, sin), (_COS, square, cos)):
        np.multiply(square, first, out=y)
        y += second
        y -= grid
        y *= square
        y += third
        np.copyto(y, np.multiply(_narrow(y, out=out), t, out=out))
        y += one
        y *= factor
        _narrow(y, out=out)
    cos += _TWO
    # In odd quarters of the turn they change places; the sine is negative in its second half, the cosine in the
    # second and third quarter.
    turn <<= 8
    cos_bits, sin_bits, swap = cos.view(I4), sin.view(I4), t.view(I4)
    np.left_shift(turn, 1, out=swap)
    swap >>= 31
    swap &= np.bitwise_xor(cos_bits, sin_bits, out=angle.view(I4))
    cos_bits ^= swap
    sin_bits ^= swap
    sin_bits ^= np.bitwise_and(turn, _SIGN, out=swap)
    turn += _QUARTER_OF_2_32
    turn &= _SIGN
    cos_bits ^= turn
