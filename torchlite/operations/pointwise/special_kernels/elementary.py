"""Short compositions of elementary functions, with PyTorch's values where the formula has none."""

from math import inf, pi

from .approximation import Array, Namespace


def sinc(xp: Namespace, x: Array) -> Array:
    """sin(πx) / πx, and 1 at 0."""
    angle = pi * x
    return xp.where(x == 0, 1.0, xp.sin(angle) / angle)


def entr(xp: Namespace, x: Array) -> Array:
    """Entropy -x log x: 0 at 0, -inf below."""
    return xp.where(x < 0, -inf, xp.where(x == 0, 0.0, -x * xp.log(x)))


def xlogy(xp: Namespace, x: Array, y: Array) -> Array:
    """x log y, and 0 where x is 0 unless y is nan."""
    return xp.where((x == 0) & (y == y), 0.0, x * xp.log(y))


def xlog1py(xp: Namespace, x: Array, y: Array) -> Array:
    """x log(1 + y), and 0 where x is 0 unless y is nan."""
    return xp.where((x == 0) & (y == y), 0.0, x * xp.log1p(y))
