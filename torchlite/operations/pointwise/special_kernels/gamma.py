"""The gamma function's logarithm and derivatives, and the Hurwitz zeta function."""

from math import factorial, inf, log, nan, pi
from math import lgamma as log_gamma

from .approximation import BERNOULLI, Array, Namespace, Rational, horner, in_double, quotient

# Near-minimax fits to 50-digit values, good to 2e-17.
# lgamma(1 + t) / (t (t - 1)) for t from 0 to 2.
_LGAMMA_1P: Rational = (
    (1.323858487713257e-06, 0.0006055922568472593, 0.01914897195230934, 0.19038598971470702, 0.8130260372971959,
     1.6589998559713868, 1.5927545608114873, 0.5772156649015329),
    (0.00015631678722863096, 0.008094621222649716, 0.1212526881431947, 0.7728788995065182, 2.432171667702697,
     3.9578104883678757, 3.1842620377387196, 1.0),
)  # fmt: skip
# What Stirling's formula for lgamma(x) lacks, times x, over 1 / x², for x from 3.
_STIRLING: Rational = (
    (0.05090080556000803, 0.7757294622446613, 1.4954453950373146, 0.7116863005366943, 0.0833333333333333),
    (0.8164650018406729, 9.841630229897968, 18.221606562438833, 8.573568939773034, 1.0),
)  # fmt: skip

# B2k / 2k, which make up log x - 1/2x - digamma(x) over 1 / x².
_DIGAMMA = tuple(b / (2 * k) for k, b in enumerate(BERNOULLI[:7], 1))[::-1]


def lgamma(xp: Namespace, x: Array) -> Array:
    """log |Γ(x)|: a fraction up to 3, Stirling's formula beyond, the reflection formula on the left; in float64."""
    dtype = x.dtype
    x = xp.maximum(x.astype(xp.float64), -1e16)  # every number below is an integer, hence a pole
    value = lgamma_1p(xp, xp.where(x < 1, xp.absolute(x), x - 1))
    # Γ(x) = Γ(1 + x) / x on the right, (π / sin πx) / Γ(1 - x) on the left.
    divisor = xp.where(x < 0, xp.sin(xp.absolute(x - xp.rint(x)) * pi) / pi, x)
    return (xp.where(x < 0, -value, value) + xp.where(x < 1, -xp.log(divisor), 0.0)).astype(dtype)


def lgamma_1p(xp: Namespace, t: Array) -> Array:
    """lgamma(1 + t) for t >= 0, exact relative to t for small t."""
    x = t + 1
    beyond = (x - 0.5) * (xp.log(x) - 1) + stirling_correction(x) + (log(2 * pi) - 1) / 2
    return xp.where(t < 2, t * (t - 1) * quotient(t, _LGAMMA_1P), beyond)


def stirling_correction(x: Array) -> Array:
    """lgamma(x) - ((x - ½) log x - x + ½ log 2π), for x >= 3."""
    return quotient(1 / (x * x), _STIRLING) / x


def multigammaln(xp: Namespace, x: Array, p: int) -> Array:
    """Logarithm of the multivariate gamma function: a sum of p lgammas."""
    if p > 1000:
        terms = lgamma(xp, x[..., None] - xp.arange(p) / 2).sum(-1)
    else:
        terms = sum(lgamma(xp, x - j / 2) for j in range(p))
    return terms + p * (p - 1) / 4 * log(pi)


@in_double
def digamma(xp: Namespace, x: Array) -> Array:
    """Derivative of lgamma: asymptotic series from 10 on, recurrence below, reflection on the left."""
    fraction = x - xp.trunc(x)
    positive = xp.where(x < 0, 1 - x, x)
    steps = 1 / positive
    for k in range(1, 10):
        steps = steps + 1 / (positive + k)
    far = positive >= 10
    shifted = xp.where(far, positive, positive + 10)
    inverse_square = 1 / (shifted * shifted)
    value = xp.log(shifted) - 0.5 / shifted - inverse_square * horner(inverse_square, _DIGAMMA)
    value = value - xp.where(far, 0.0, steps)
    reflected = value - pi / xp.tan(pi * fraction)
    return xp.where(x < 0, xp.where(fraction == 0, nan, reflected), value)


def trigamma(xp: Namespace, x: Array) -> Array:
    """Derivative of digamma: three terms of the asymptotic series after six steps of recurrence, as PyTorch has it.

    Exact to 5e-10 only, and the reflection formula takes the sine of πx as rounded, so that poles come out finite.
    """
    left = x < 0.5
    sine = xp.sin(pi * x)
    positive = xp.where(left, 1 - x, x)
    value = xp.where(left, -(pi * pi) / (sine * sine), 0.0)
    for _ in range(6):
        value = value + 1 / (positive * positive)
        positive = positive + 1
    inverse_square = 1 / (positive * positive)
    series = inverse_square * (1 / 6 - inverse_square * (1 / 30 - inverse_square * (1 / 42)))
    value = value + (1 + 1 / (2 * positive) + series) / positive
    return xp.where(left, -value, value)


def polygamma(xp: Namespace, n: int, x: Array) -> Array:
    """n-th derivative of digamma; from the second on (-1)ⁿ⁺¹ n! ζ(n + 1, x)."""
    if n == 0:
        return digamma(xp, x)
    if n == 1:
        return trigamma(xp, x)
    size = xp.exp(xp.full((), log_gamma(n + 1), dtype=x.dtype))
    return (size if n % 2 else -size) * zeta(xp, xp.full((), n + 1, dtype=x.dtype), x)


def zeta(xp: Namespace, s: Array, q: Array) -> Array:
    """Hurwitz zeta function Σ (q + k)⁻ˢ, in float64: its first terms, then the Euler-Maclaurin sum of the rest.

    The first terms go up to 9 or so wherever q begins, which makes a far negative q slow. Left of 0 they cancel, and
    the rounding that remains is PyTorch's too, as each element stops adding at its first negligible term.
    """
    dtype = xp.result_type(s, q)
    s, q = xp.broadcast_arrays(s.astype(xp.float64), q.astype(xp.float64))
    end, power = q, q**-s
    total = power
    pole = (q <= 0) & (q == xp.floor(q))
    steps, done = 0, pole | (q != q)
    while (adding := ~done & ((steps < 9) | (end <= 9))).any():
        end = xp.where(adding, end + 1, end)
        power = xp.where(adding, end**-s, power)
        total = xp.where(adding, total + power, total)
        done = done | (adding & _negligible(power, total))
        steps += 1
    total = xp.where(done, total, total + power * end / (s - 1) - power / 2)
    rising, power = s, power / end
    for k, bernoulli in enumerate(BERNOULLI, 1):
        term = rising * power * (bernoulli / factorial(2 * k))
        total = xp.where(done, total, total + term)
        done = done | _negligible(term, total)
        rising = rising * (s + (2 * k - 1)) * (s + 2 * k)
        power = power / end / end
    total = xp.where((q < 0) & (s != xp.floor(s)), nan, total)
    return xp.where(s == 1, inf, xp.where(s < 1, nan, xp.where(pole, inf, total))).astype(dtype)


def _negligible(term: Array, total: Array) -> Array:
    return abs(term) < 2.0**-53 * abs(total)
