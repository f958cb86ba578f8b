"""What every kernel here is made of: polynomials by Horner's rule and their quotients."""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

Array: TypeAlias = Any  # an array of some namespace, or a scalar it made from a 0-d one
Namespace: TypeAlias = Any  # numpy, cupy or anything that offers what both of them do
Polynomial: TypeAlias = tuple[float, ...]  # coefficients, highest power first
Rational: TypeAlias = tuple[Polynomial, Polynomial]  # numerator and denominator

# B2, B4, …, B24: the Bernoulli numbers that asymptotic series are written with.
BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
    43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip


def horner(x: Array, polynomial: Polynomial) -> Array:
    """The polynomial at `x`."""
    result = x * polynomial[0] + polynomial[1]
    for coefficient in polynomial[2:]:
        result *= x
        result += coefficient
    return result


def quotient(x: Array, fraction: Rational) -> Array:
    """The rational function at `x`."""
    numerator, denominator = fraction
    return horner(x, numerator) / horner(x, denominator)


def in_double(kernel: Callable[[Namespace, Array], Array]) -> Callable[[Namespace, Array], Array]:
    """A kernel that computes in double precision: near a zero or a pole, few roundings of float32 are many digits."""

    @functools.wraps(kernel)
    def call(xp: Namespace, x: Array) -> Array:
        return kernel(xp, x.astype(xp.float64)).astype(x.dtype)

    return call
