"""The regularised incomplete gamma functions P(a, x) and Q(a, x), in float64 whatever the dtype.

Four expansions share the quadrant, as in everybody's implementation since Gautschi's and Temme's: a power series for P
where x is small or below a, a continued fraction for Q where x is above a, an alternating series for Q where both are
small, and an expansion that is uniform in x / a where both are large and close. PyTorch's own are less exact than
these: by 4e-10 where a is above 20, by half a tail's value near 1e8, and by epsilon / a for a tiny a.
"""

from collections.abc import Callable
from math import inf, nan, pi, sqrt

from .approximation import Array, Namespace
from .error import erfc
from .gamma import lgamma_1p, stirling_correction

Kernel = Callable[[Namespace, Array, Array], Array]

_ENOUGH = 110  # terms of a series or fraction, wherever it is at home


def _uniform_coefficients(count: int) -> list[float]:
    """The power series in η of 1/μ - 1/η, where ½η² = μ - log(1 + μ), from that of μ = η + η²/3 + …"""
    mu = [0.0, 1.0, 1 / 3]
    for n in range(3, count + 2):
        convolution = sum(k * mu[k] * mu[n + 1 - k] for k in range(2, n))
        mu.append((mu[n - 1] - convolution) / (n + 1))
    # Differentiating the relation gives 1/μ = μ'/η - 1.
    return [(n + 2) * mu[n + 2] - (n == 0) for n in range(count)]


UNIFORM = _uniform_coefficients(20)


def gammainc(xp: Namespace, a: Array, x: Array) -> Array:
    """P(a, x), from whichever expansion is at home there."""

    def regions(a: Array, x: Array, uniform: Array) -> list[tuple[Array, Kernel]]:
        series = ~uniform & ((x <= 1) | (x <= a))
        return [(uniform, _uniform_lower), (series, _series), (~uniform & ~series, _one_minus(_fraction))]

    return _regularised(xp, a, x, regions, _limits_of_lower(xp, a, x))


def gammaincc(xp: Namespace, a: Array, x: Array) -> Array:
    """Q(a, x) = 1 - P(a, x), without the cancellation."""

    def regions(a: Array, x: Array, uniform: Array) -> list[tuple[Array, Kernel]]:
        series = ~uniform & xp.where(x <= 0.5, -0.4 / xp.log(x) < a, xp.where(x <= 1.1, 0.75 * x < a, x < a))
        alternating = ~uniform & ~series & (x <= 1.1)
        fraction = ~uniform & ~series & ~alternating
        return [
            (uniform, _uniform_upper),
            (series, _one_minus(_series)),
            (alternating, _alternating),
            (fraction, _fraction),
        ]

    return _regularised(xp, a, x, regions, 1 - _limits_of_lower(xp, a, x))


def _limits_of_lower(xp: Namespace, a: Array, x: Array) -> Array:
    """P on the quadrant's edges, at infinity too; nan elsewhere."""
    at_infinity = xp.where(a == inf, xp.where(x == inf, nan, 0.0), xp.where(x == inf, 1.0, nan))
    inside = xp.where(a == 0, xp.where(x > 0, 1.0, nan), xp.where(x == 0, 0.0, at_infinity))
    return xp.where((a < 0) | (x < 0), nan, inside)


def _regularised(xp: Namespace, a: Array, x: Array, regions: Callable[..., list], limits: Array) -> Array:
    dtype, shape = xp.result_type(a, x), limits.shape
    a, x = (v.ravel() for v in xp.broadcast_arrays(a.astype(xp.float64), x.astype(xp.float64)))
    result = limits.astype(xp.float64).ravel()
    inside = (a > 0) & (x > 0) & (a < inf) & (x < inf)
    a, x = a[inside], x[inside]
    values = xp.empty_like(a)
    uniform = (a > 20) & (xp.absolute(x - a) < 0.3 * a)
    for here, kernel in regions(a, x, uniform):
        if here.any():
            values[here] = kernel(xp, a[here], x[here])
    result[inside] = values
    return result.reshape(shape).astype(dtype)


def _one_minus(kernel: Kernel) -> Kernel:
    return lambda xp, a, x: 1 - kernel(xp, a, x)


def _leading_factor(xp: Namespace, a: Array, x: Array) -> Array:
    """xᵃ e⁻ˣ / Γ(a + 1), for large a by Stirling's formula, whose big terms cancel on paper."""
    far = a * (xp.log(x / a) - (x - a) / a) - stirling_correction(xp.maximum(a, 3.0))
    return xp.where(a < 10, xp.exp(a * xp.log(x) - x - lgamma_1p(xp, a)), xp.exp(far) / xp.sqrt(2 * pi * a))


def _series(xp: Namespace, a: Array, x: Array) -> Array:
    """P as its leading factor times Σ xⁿ / ((a + 1) … (a + n)), innermost bracket first."""
    total = xp.ones_like(x)
    for n in range(_ENOUGH, 0, -1):
        total = 1 + total * (x / (a + n))
    return _leading_factor(xp, a, x) * total


def _fraction(xp: Namespace, a: Array, x: Array) -> Array:
    """Q as its leading factor times Legendre's continued fraction, innermost denominator first."""
    b = x + 1 - a
    rest = xp.zeros_like(x)
    for n in range(_ENOUGH, 0, -1):
        rest = n * (a - n) / (b + 2 * n + rest)
    return _leading_factor(xp, a, x) * a / (b + rest)


def _alternating(xp: Namespace, a: Array, x: Array) -> Array:
    """Q for small a and x, as 1 - xᵃ / Γ(a + 1) less xᵃ / Γ(a) times Σ (-x)ⁿ / (n! (a + n))."""
    power = xp.ones_like(x)
    total = xp.zeros_like(x)
    for n in range(1, 22):
        power = power * (-x / n)
        total = total + power / (a + n)
    exponent = a * xp.log(x) - lgamma_1p(xp, a)
    return -xp.expm1(exponent) - a * xp.exp(exponent) * total


def _uniform_lower(xp: Namespace, a: Array, x: Array) -> Array:
    eta, remainder = _uniform_parts(xp, a, x)
    return erfc(xp, -eta) / 2 - remainder


def _uniform_upper(xp: Namespace, a: Array, x: Array) -> Array:
    eta, remainder = _uniform_parts(xp, a, x)
    return erfc(xp, eta) / 2 + remainder


def _uniform_parts(xp: Namespace, a: Array, x: Array) -> tuple[Array, Array]:
    """Temme's expansion: Q = ½ erfc(η √(a/2)) + R, where ½η² = μ - log(1 + μ) and μ = x/a - 1. Gives η √(a/2) and R."""
    mu = (x - a) / a
    # log(1 + μ) = 2 artanh(t), and μ = 2t / (1 - t).
    t = mu / (2 + mu)
    square = t * t
    cubic = xp.zeros_like(t)
    for k in range(27, 1, -2):
        cubic = cubic * square + 1 / k
    half_eta_squared = t * (mu - 2 * square * cubic)
    eta = xp.copysign(xp.sqrt(2 * half_eta_squared), mu)
    # R is a power series in η whose coefficients depend on a: each is linked to the next but one.
    following, current = xp.zeros_like(a), xp.full_like(a, UNIFORM[-1])
    series = current
    for m in range(len(UNIFORM) - 1, 0, -1):
        following, current = current, UNIFORM[m - 1] + (m + 1) * following / a
        series = series * eta + current
    remainder = xp.exp(-a * half_eta_squared) / xp.sqrt(2 * pi * a) * series / (1 + following / a)
    return eta * xp.sqrt(a) * sqrt(0.5), remainder
