"""The classical orthogonal polynomials p(x) of a degree n given per element, cut to an integer; 0 for n below 0.

All go by their three-term recurrence, at the cost of the largest degree asked for. Chebyshev's inside (-1, 1) and above
a small degree go by their trigonometric form, as PyTorch's do.
"""

from collections.abc import Callable
from math import nan

from .approximation import Array, Namespace

Step = Callable[[int, Array, Array], Array]  # p_k+1 from k, p_k and p_k-1

# No Hermite polynomial of this degree has a finite value, by bytes of a float.
_HERMITE_OVERFLOW = {4: 128, 8: 512}


def chebyshev_polynomial_t(xp: Namespace, x: Array, n: Array) -> Array:
    """First kind: cos nθ, where x = cos θ."""
    return _chebyshev(xp, x, n, x, 6, lambda n, angle: xp.cos(n * angle))


def chebyshev_polynomial_u(xp: Namespace, x: Array, n: Array) -> Array:
    """Second kind: sin (n+1)θ / sin θ, where x = cos θ."""
    return _chebyshev(xp, x, n, x + x, 8, lambda n, angle: xp.sin((n + 1) * angle) / xp.sin(angle))


def chebyshev_polynomial_v(xp: Namespace, x: Array, n: Array) -> Array:
    """Third kind: cos (n+½)θ / cos ½θ, where x = cos θ."""
    return _chebyshev(xp, x, n, x + x - 1, 8, lambda n, angle: xp.cos((n + 0.5) * angle) / xp.cos(angle / 2))


def chebyshev_polynomial_w(xp: Namespace, x: Array, n: Array) -> Array:
    """Fourth kind: sin (n+½)θ / sin ½θ, where x = cos θ."""
    return _chebyshev(xp, x, n, x + x + 1, 8, lambda n, angle: xp.sin((n + 0.5) * angle) / xp.sin(angle / 2))


def shifted_chebyshev_polynomial_t(xp: Namespace, x: Array, n: Array) -> Array:
    """First kind, moved from [-1, 1] to [0, 1]."""
    return chebyshev_polynomial_t(xp, x + x - 1, n)


def shifted_chebyshev_polynomial_u(xp: Namespace, x: Array, n: Array) -> Array:
    """Second kind, moved from [-1, 1] to [0, 1]."""
    return chebyshev_polynomial_u(xp, x + x - 1, n)


def shifted_chebyshev_polynomial_v(xp: Namespace, x: Array, n: Array) -> Array:
    """Third kind, moved from [-1, 1] to [0, 1]."""
    return chebyshev_polynomial_v(xp, x + x - 1, n)


def shifted_chebyshev_polynomial_w(xp: Namespace, x: Array, n: Array) -> Array:
    """Fourth kind, moved from [-1, 1] to [0, 1]."""
    return chebyshev_polynomial_w(xp, x + x - 1, n)


def hermite_polynomial_h(xp: Namespace, x: Array, n: Array) -> Array:
    """The physicist's: H_k+1 = 2x H_k - 2k H_k-1; nan where the recurrence overflows."""
    double = x + x
    return _hermite(xp, double, n, lambda k, this, last: double * this - 2 * k * last)


def hermite_polynomial_he(xp: Namespace, x: Array, n: Array) -> Array:
    """The probabilist's: He_k+1 = x He_k - k He_k-1; nan where the recurrence overflows."""
    return _hermite(xp, x, n, lambda k, this, last: x * this - k * last)


def laguerre_polynomial_l(xp: Namespace, x: Array, n: Array) -> Array:
    """(k+1) L_k+1 = (2k+1 - x) L_k - k L_k-1; 1 at 0."""
    degree = _degree(xp, x, n)
    return _recurrence(xp, degree, 1 - x, lambda k, this, last: ((2 * k + 1 - x) * this - k * last) / (k + 1))


def legendre_polynomial_p(xp: Namespace, x: Array, n: Array) -> Array:
    """(k+1) P_k+1 = (2k+1) x P_k - k P_k-1."""
    degree = _degree(xp, x, n)
    return _recurrence(xp, degree, x, lambda k, this, last: ((2 * k + 1) * x * this - k * last) / (k + 1))


def _chebyshev(
    xp: Namespace, x: Array, n: Array, first: Array, last_by_recurrence: int, closed: Callable[[Array, Array], Array]
) -> Array:
    """The kind with this p_1, all of which continue p_k+1 = 2x p_k - p_k-1, and this trigonometric form."""
    degree = _degree(xp, x, n)
    far = degree > last_by_recurrence
    trigonometric, linear = far & (xp.absolute(x) < 1), far & (xp.absolute(x) == 1)
    double = x + x
    near = xp.where(trigonometric | linear, 0.0, degree)
    value = _recurrence(xp, near, first, lambda k, this, last: double * this - last)
    value = xp.where(linear, xp.where(degree % 2 == 0, 1.0, x) * (1 + degree * (x * first - 1)), value)
    return xp.where(trigonometric, closed(degree, xp.arccos(x)), value)


def _hermite(xp: Namespace, first: Array, n: Array, step: Step) -> Array:
    degree = _degree(xp, first, n)
    hopeless = degree >= _HERMITE_OVERFLOW[first.dtype.itemsize]
    return xp.where(hopeless, nan, _recurrence(xp, xp.where(hopeless, 0.0, degree), first, step))


def _degree(xp: Namespace, x: Array, n: Array) -> Array:
    """n as PyTorch's kernels read it: in x's dtype, cut to a 64-bit integer, -1 for what is none."""
    n = n.astype(x.dtype)
    return xp.where(xp.absolute(n) < 2.0**63, xp.trunc(n), -1.0)


def _recurrence(xp: Namespace, degree: Array, first: Array, step: Step) -> Array:
    """p_degree, from p_0 = 1, p_1 = first and `step`."""
    last, this = xp.ones_like(first), first
    value = xp.where(degree == 0, 1.0, first)
    for k in range(1, int(degree.max()) if degree.size else 0):
        last, this = this, step(k, this, last)
        value = xp.where(degree > k, this, value)
        if k % 64 == 0 and xp.isnan(this[degree > k]).all():  # which it stays
            break
        if k % 256 == 0 and not ((degree > k) & (this == this)).any():
            break  # nan from here on
    return xp.where(degree < 0, 0.0, value)
