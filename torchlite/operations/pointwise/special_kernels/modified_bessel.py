"""Modified Bessel functions of order 0 and 1, as they are and without their exponential growth or decay.

Power series near 0; further out near-minimax fits to 50-digit values of √x e⁻ˣ I(x) and √x eˣ K(x), good to 1e-16.
"""

from math import factorial, inf

from .approximation import Array, Namespace, Polynomial, Rational, horner, quotient

_EULER_GAMMA = 0.5772156649015329
_I_TERMS, _K_TERMS = range(28, -1, -1), range(12, -1, -1)

# I0 and I1 / (x/2) over x²/4, for x up to 12.
_I0_NEAR: Polynomial = tuple(1 / factorial(k) ** 2 for k in _I_TERMS)
_I1_NEAR: Polynomial = tuple(1 / (factorial(k) * factorial(k + 1)) for k in _I_TERMS)
# √x e⁻ˣ I0 and I1 over 1/12 - 1/x, from 12.
_I0_FAR: Rational = (
    (2151.2571370174255, 18340.641331316205, 20890.648191118213, 6043.941086620245, 469.886945415751,
     11.78068874887947, 0.40331226094986455),
    (9036.97153143451, 51569.94723561506, 53767.02441443926, 15143.376031546784, 1168.99838551471, 29.346922920459058,
     1.0),
)  # fmt: skip
_I1_FAR: Rational = (
    (4183.88117737901, 17303.716373060015, 17406.11950852898, 5121.001703904609, 420.98040773933025,
     11.228302022041794, 0.38612365920131403),
    (2683.2603442980285, 30219.715913090175, 39981.14751426019, 12824.33373155709, 1078.6675002828106,
     28.669274885553854, 1.0),
)  # fmt: skip

# K0 + log(x/2) I0, and (K1 - 1/x - log(x/2) I1) / (x/2), over x²/4, up to 2.
_HARMONIC = tuple(sum(1 / j for j in range(1, k + 1)) for k in range(14))
_K0_NEAR: Polynomial = tuple((_HARMONIC[k] - _EULER_GAMMA) / factorial(k) ** 2 for k in _K_TERMS)
_K1_NEAR: Polynomial = tuple(
    (_EULER_GAMMA - (_HARMONIC[k] + _HARMONIC[k + 1]) / 2) / (factorial(k) * factorial(k + 1)) for k in _K_TERMS
)
# √x eˣ K0 and K1 over 1/x, from 2.
_K0_FAR: Rational = (
    (0.33558780728423754, 14.220741311139712, 94.76844066169274, 212.0298426758417, 202.21016485227656,
     89.14307904810593, 17.66089059812611, 1.2533141373155003),
    (0.693115915175006, 16.526645954089116, 90.93381076075087, 186.17314167822968, 169.51810076045325,
     72.83261796720016, 14.216351938273295, 1.0),
)  # fmt: skip
_K1_FAR: Rational = (
    (1.4739895334534168, 25.5839960152707, 119.729049287038, 228.04226679303292, 203.19358763742588,
     87.71689217391007, 17.421001295214893, 1.2533141373155003),
    (0.13996616616421276, 7.463132210250312, 55.80312107009605, 136.1223671470371, 139.21995995813123,
     65.03328599947609, 13.524947967178699, 1.0),
)  # fmt: skip


def i0(xp: Namespace, x: Array) -> Array:
    """I0: its power series up to 12, eˣ times a fraction in 1/x beyond."""
    x = xp.absolute(x)
    return xp.where(x <= 12, _i0_near(x), xp.exp(x) * _far(xp, x, _I0_FAR))


def i0e(xp: Namespace, x: Array) -> Array:
    """e^-|x| I0."""
    x = xp.absolute(x)
    return xp.where(x <= 12, xp.exp(-x) * _i0_near(x), _far(xp, x, _I0_FAR))


def i1(xp: Namespace, x: Array) -> Array:
    """I1: its power series up to 12, eˣ times a fraction in 1/x beyond."""
    size = xp.absolute(x)
    value = xp.where(size <= 12, _i1_near(size), xp.exp(size) * _far(xp, size, _I1_FAR))
    return xp.where(x < 0, -value, value)


def i1e(xp: Namespace, x: Array) -> Array:
    """e^-|x| I1."""
    size = xp.absolute(x)
    value = xp.where(size <= 12, xp.exp(-size) * _i1_near(size), _far(xp, size, _I1_FAR))
    return xp.where(x < 0, -value, value)


def modified_bessel_k0(xp: Namespace, x: Array) -> Array:
    """K0: its logarithmic series up to 2, e⁻ˣ times a fraction in 1/x beyond."""
    return xp.where(x <= 2, _k0_near(xp, x), xp.exp(-x) * quotient(1 / x, _K0_FAR) / xp.sqrt(x))


def scaled_modified_bessel_k0(xp: Namespace, x: Array) -> Array:
    """eˣ K0."""
    return xp.where(x <= 2, xp.exp(x) * _k0_near(xp, x), quotient(1 / x, _K0_FAR) / xp.sqrt(x))


def modified_bessel_k1(xp: Namespace, x: Array) -> Array:
    """K1: its logarithmic series up to 2, e⁻ˣ times a fraction in 1/x beyond."""
    return xp.where(x <= 2, _k1_near(xp, x), xp.exp(-x) * quotient(1 / x, _K1_FAR) / xp.sqrt(x))


def scaled_modified_bessel_k1(xp: Namespace, x: Array) -> Array:
    """eˣ K1."""
    return xp.where(x <= 2, xp.exp(x) * _k1_near(xp, x), quotient(1 / x, _K1_FAR) / xp.sqrt(x))


def _far(xp: Namespace, x: Array, fraction: Rational) -> Array:
    return quotient(1 / 12 - 1 / x, fraction) / xp.sqrt(x)


def _i0_near(x: Array, terms: int = len(_I_TERMS)) -> Array:
    half = x * 0.5
    return horner(half * half, _I0_NEAR[-terms:])


def _i1_near(x: Array, terms: int = len(_I_TERMS)) -> Array:
    half = x * 0.5
    return half * horner(half * half, _I1_NEAR[-terms:])


def _k0_near(xp: Namespace, x: Array) -> Array:
    half = x * 0.5
    return horner(half * half, _K0_NEAR) - xp.log(half) * _i0_near(x, len(_K0_NEAR))


def _k1_near(xp: Namespace, x: Array) -> Array:
    half = x * 0.5
    value = 1 / x + half * horner(half * half, _K1_NEAR) + xp.log(half) * _i1_near(x, len(_K1_NEAR))
    return xp.where(x == 0, inf, value)


modified_bessel_i0 = i0
modified_bessel_i1 = i1
