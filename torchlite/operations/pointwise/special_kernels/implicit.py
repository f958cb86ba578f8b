"""How gamma and beta numbers move with their parameters while the probability of a smaller number stays the same.

For a distribution function F with density f that is dx/da = -(∂F/∂a) / f, worked out in float64 from expansions of F or
of 1 - F, whichever is the small one. PyTorch's own are fits, good to three or four digits.
"""

from .approximation import Array, Namespace
from .gamma import digamma, stirling_correction
from .incomplete_gamma import UNIFORM

_ENOUGH = 120  # terms of a series or fraction for the gamma distribution, wherever it is at home


def gamma_shift(xp: Namespace, a: Array, x: Array) -> Array:
    """dx/da for a number x of the gamma distribution of shape a and scale 1."""
    dtype = x.dtype
    a, x = a.astype(xp.float64), x.astype(xp.float64)
    bulk = (a > 20) & (xp.absolute(x - a) < 0.3 * a)
    left = (x <= 1) | (x <= a)
    # Away from where a form is at home its arguments are replaced, so that it stays finite there.
    low = _from_below(xp, a, xp.where(left, x, 1.0))
    high = _from_above(xp, a, xp.where(left, a + 1, x))
    uniform = _from_within(xp, xp.where(bulk, a, 30.0), xp.where(bulk, x, 30.0))
    return xp.where(bulk, uniform, xp.where(left, low, high)).astype(dtype)


def _from_below(xp: Namespace, a: Array, x: Array) -> Array:
    """From F = xᵃ e⁻ˣ / Γ(a + 1) Σ tₙ, where tₙ = xⁿ / ((a + 1) … (a + n))."""
    total, slope = xp.ones_like(x), xp.zeros_like(x)
    for n in range(_ENOUGH, 0, -1):  # innermost bracket first, with its derivative by a
        factor = x / (a + n)
        slope = factor * (slope - total / (a + n))
        total = 1 + total * factor
    return -(x / a) * ((xp.log(x) - digamma(xp, a + 1)) * total + slope)


def _from_above(xp: Namespace, a: Array, x: Array) -> Array:
    """From 1 - F = xᵃ e⁻ˣ / Γ(a) / (b + …), Legendre's continued fraction with b = x + 1 - a."""
    b = x + 1 - a
    rest, slope = xp.zeros_like(x), xp.zeros_like(x)
    for n in range(_ENOUGH, 0, -1):
        below = b + 2 * n + rest
        rest = n * (a - n) / below
        slope = (n - rest * (slope - 1)) / below
    return x / (b + rest) * (xp.log(x) - digamma(xp, a) - (slope - 1) / (b + rest))


def _from_within(xp: Namespace, a: Array, x: Array) -> Array:
    """From Temme's expansion of 1 - F for a large a: ½ erfc(η √(a/2)) + e^(-aη²/2) / √(2πa) T(η, a)."""
    mu = (x - a) / a
    log_ratio = xp.log1p(mu)
    near = xp.absolute(mu) < 1e-4
    half_square = xp.where(near, mu * mu * (0.5 - mu / 3 + mu * mu / 4), mu - log_ratio)
    eta = xp.copysign(xp.sqrt(2 * half_square), mu)
    level = xp.where(near, 1 - mu / 6 + mu * mu / 12, log_ratio / xp.where(eta == 0, 1.0, eta))  # log λ / η
    # T is a quotient of a power series in η, whose coefficients depend on a, and of 1 + β₁/a; each with derivatives.
    following = following_slope = xp.zeros_like(a)
    current, current_slope = xp.full_like(a, UNIFORM[-1]), xp.zeros_like(a)
    series, by_eta, by_a = current, xp.zeros_like(a), xp.zeros_like(a)
    for m in range(len(UNIFORM) - 1, 0, -1):
        link = (m + 1) / a
        following, current, following_slope, current_slope = (
            current, UNIFORM[m - 1] + link * following, current_slope, link * (following_slope - following / a),
        )  # fmt: skip
        by_eta = by_eta * eta + series
        by_a = by_a * eta + current_slope
        series = series * eta + current
    divisor = 1 + following / a
    divisor_slope = (following_slope - following / a) / a
    term = series / divisor
    eta_slope = -level / a - eta / (2 * a)
    term_slope = (by_eta * eta_slope + by_a - term * divisor_slope) / divisor
    return x / a * xp.exp(stirling_correction(a)) * (level + term * (log_ratio - 1 / (2 * a)) + term_slope)


def beta_shift(xp: Namespace, x: Array, a: Array, b: Array) -> Array:
    """dx/da / (1 - x) for a number x of the beta distribution of the shapes a and b."""
    dtype = x.dtype
    x, a, b = (v.astype(xp.float64) for v in xp.broadcast_arrays(x, a, b))
    if not x.size:
        return x.astype(dtype)
    left = x <= (a + 1) / (a + b + 2)
    y = xp.where(left, x, 1 - x)
    first, second = xp.where(left, a, b), xp.where(left, b, a)
    # F, or 1 - F, is xᵃ(1 - x)ᵇ / (a B(a, b)) over a continued fraction. Wanted is the derivative by `first` on the
    # left, by `second` on the right.
    to_first = xp.where(left, 1.0, 0.0)
    to_second = 1 - to_first
    both = first + second
    fraction, slope = xp.ones_like(x), xp.zeros_like(x)
    terms = 40 + int(5 * min(float(both.max().item()), 1e5) ** 0.5)
    for m in range(terms, 0, -1):
        # Terms -(a + m)(a + b + m)x / ((a + 2m)(a + 2m + 1)) and m(b - m)x / ((a + 2m - 1)(a + 2m)) take turns.
        up = first + m
        odd = -up * (both + m) * y / ((up + m) * (up + m + 1))
        odd_slope = odd * (to_first * (1 / up - 1 / (up + m) - 1 / (up + m + 1)) + 1 / (both + m))
        slope = (odd_slope - odd / fraction * slope) / fraction
        fraction = 1 + odd / fraction
        even = m * (second - m) * y / ((up + m - 1) * (up + m))
        even_slope = m * y / ((up + m - 1) * (up + m)) * to_second
        even_slope = even_slope - even * to_first * (1 / (up + m - 1) + 1 / (up + m))
        slope = (even_slope - even / fraction * slope) / fraction
        fraction = 1 + even / fraction
    head = -both * y / (first + 1)
    head_slope = -y / (first + 1) + to_first * both * y / (first + 1) ** 2
    slope = (head_slope - head / fraction * slope) / fraction
    fraction = 1 + head / fraction
    in_log = xp.log(x) - digamma(xp, a) + digamma(xp, both) - to_first / first - slope / fraction
    return (xp.where(left, -1.0, 1.0) * x / (first * fraction) * in_log).astype(dtype)
