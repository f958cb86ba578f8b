"""The error function and its relatives: the normal distribution, its logarithm and its quantiles.

The coefficients are near-minimax fits to 50-digit values. Each is good to 1e-16 or better, the one for float32 to 3e-9.
"""

from math import sqrt

from .approximation import Array, Namespace, Rational, in_double, quotient

_SQRT_HALF = sqrt(0.5)

# erf(x) / x over x², up to x = 4 and x = 6.
_ERF_FLOAT32: Rational = (
    (6.795671292362534e-06, 0.0004113960420797948, 0.004227230662978211, 0.055753368604184145, 0.19288933974422204,
     1.1283791703244357),
    (2.607301851969356e-07, 7.259469041759013e-05, 0.0014215086647623534, 0.016297038325526033, 0.11750186646371016,
     0.5042771641155439, 1.0),
)  # fmt: skip
_ERF_FLOAT64: Rational = (
    (1.507186675186492e-17, 2.171733181442887e-14, 3.327507250547631e-12, 1.7454320869072431e-10,
     6.841543543014312e-09, 1.723175227174438e-07, 3.9439863753337285e-06, 5.774918419180884e-05,
     0.0008620996326589208, 0.0069606619956656835, 0.06635226022763281, 0.2214751457114455, 1.1283791670955126),
    (8.555899454392313e-16, 3.2707651007907753e-13, 2.5722519337628407e-11, 1.1397709166461456e-09,
     3.566837231914077e-08, 8.466769301538078e-07, 1.569289227680539e-05, 0.00022851669647811276,
     0.0025870040041722038, 0.022130531645840015, 0.1353400165055559, 0.5296105707813854, 1.0),
)  # fmt: skip
# Where those fractions have come just above 1.
_ERF_LIMIT_FLOAT32, _ERF_LIMIT_FLOAT64 = 4.15, 6.05

# (1 + x / 4) erfcx(x) over x / (x + 4).
_ERFCX: Rational = (
    (0.002011719951341918, 0.12830035044184288, 0.6673013793629747, 0.5713076040575507, 3.011344438715064,
     -0.21216337167993177, 5.5017856464034605, -1.365228974122426, 4.100249438273278, -0.6165326306463553, 1.0),
    (1.1186999662465416, 3.7518386079143, 7.796927307354917, 12.140274454934266, 15.25290708577023,
     15.960049181236819, 14.065885302985334, 10.377771897702406, 6.305884479669674, 2.896984037735631, 1.0),
)  # fmt: skip

# erfinv(x) / x over 0.5625 - x², for |x| up to 0.75.
_CENTRE: Rational = (
    (0.011891969402420073, 0.5839890953847027, 4.424640929768072, 11.427508939223294, 12.610173275520324,
     6.1412234370930285, 1.0845597967968246),
    (0.06755796747251737, 1.3922900625271077, 7.274536278212502, 15.018896105011166, 14.214100683332006,
     6.1811591816735145, 1.0),
)  # fmt: skip
# erfinv / s over 1 / s, where s² is minus the logarithm of the tail's probability, from 1/8 down to 1e-326.
_TAIL: Rational = (
    (-557324.7642509175, -2868769.374156995, -2527468.739562615, 2032609.8086129648, 4320152.863345293,
     2817579.8194936514, 861245.127789948, 120713.53984677792, 7221.934360818374, 162.50028334680854,
     1.000001833279918),
    (-1970.2345963189928, 253327.24241723857, 2295262.7952352404, 5448113.933833273, 5586071.383056625,
     3039043.8644372365, 877661.1108648379, 121170.46505991349, 7225.562662539504, 162.50182517274504, 1.0),
)  # fmt: skip


def erf(xp: Namespace, x: Array) -> Array:
    """Error function: x times one fraction in x², held to ±1."""
    single = x.dtype.itemsize == 4
    limit = _ERF_LIMIT_FLOAT32 if single else _ERF_LIMIT_FLOAT64
    x = xp.clip(x, -limit, limit)
    return xp.clip(x * quotient(x * x, _ERF_FLOAT32 if single else _ERF_FLOAT64), -1.0, 1.0)


def erfc(xp: Namespace, x: Array) -> Array:
    """Complement 1 - erf(x): exp(-x²) erfcx(x) on the right, reflected on the left."""
    magnitude = xp.minimum(xp.absolute(x), 30.0)
    # x = head + rest with head² exact, so that exp(-x²) does not suffer from the rounding of x².
    head = xp.rint(magnitude * 64) / 64
    gauss = xp.exp(-head * head) * xp.exp((head - magnitude) * (head + magnitude))
    right = gauss * _erfcx_of_positive(magnitude)
    return xp.where(x < 0, 2 - right, right)


@in_double
def erfcx(xp: Namespace, x: Array) -> Array:
    """Scaled complement exp(x²) erfc(x): a fraction on the right, reflected on the left."""
    right = _erfcx_of_positive(xp.absolute(x))
    return xp.where(x < 0, 2 * xp.exp(x * x) - right, right)


def _erfcx_of_positive(x: Array) -> Array:
    shrink = 4 / (x + 4)
    return shrink * quotient(1 - shrink, _ERFCX)


@in_double
def erfinv(xp: Namespace, x: Array) -> Array:
    """Inverse of erf: one fraction in x² for the centre, one in the logarithm of the distance to ±1 for the tails."""
    return _erfinv(xp, x, (1 - xp.absolute(x)) / 2)


@in_double
def ndtri(xp: Namespace, p: Array) -> Array:
    """Normal quantile √2 erfinv(2p - 1), exact in both tails."""
    return _erfinv(xp, 2 * p - 1, xp.minimum(p, 1 - p)) * sqrt(2)


def _erfinv(xp: Namespace, x: Array, tail: Array) -> Array:
    """erfinv(x), given also tail = (1 - |x|) / 2, which x may be too coarse to tell."""
    scale = xp.sqrt(-xp.log(tail))
    outer = scale * quotient(1 / scale, _TAIL)
    return xp.where(xp.absolute(x) <= 0.75, x * quotient(0.5625 - x * x, _CENTRE), xp.copysign(outer, x))


def ndtr(xp: Namespace, x: Array) -> Array:
    """Normal distribution as (1 + erf(x / √2)) / 2, which like PyTorch's is absolutely, not relatively, exact."""
    return (1 + erf(xp, x * _SQRT_HALF)) * 0.5


def log_ndtr(xp: Namespace, x: Array) -> Array:
    """Logarithm of the normal distribution: by erfcx below -1, where erfc would underflow, by erfc above."""
    scaled = x * _SQRT_HALF
    below = xp.log(erfcx(xp, -scaled) * 0.5) - scaled * scaled
    return xp.where(x < -1, below, xp.log1p(erfc(xp, scaled) * -0.5))
