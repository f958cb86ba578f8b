"""Bessel functions of order 0 and 1, the spherical one of order 0, and Airy's function.

The fractions for J, Y and Ai are Cephes's. Cephes stores most of their denominators without the leading 1; PyTorch
evaluates them as stored, which moves its values by up to 1e-6 (J, Y) and 3e-6 (Ai) from the true ones. So do these.
"""

from math import inf, nan, pi, prod, sqrt

from .approximation import Array, Namespace, Rational, horner, quotient

# Up to 5, over x²: J0 and J1 / x without their first two zeros, Y0 and Y1 / x without what is logarithmic or singular.
_J0_ZEROS = 5.78318596294678452118, 30.4712623436620863991
_J0_NEAR: Rational = (
    (-4.79443220978201773821e9, 1.95617491946556577543e12, -2.49248344360967716204e14, 9.70862251047306323952e15),
    (4.99563147152651017219e2, 1.73785401676374683123e5, 4.84409658339962045305e7, 1.11855537045356834862e10,
     2.11277520115489217587e12, 3.10518229857422583814e14, 3.18121955943204943306e16, 1.71086294081043136091e18),
)  # fmt: skip
_J1_ZEROS = 14.6819706421238932572, 49.2184563216946036703
_J1_NEAR: Rational = (
    (-8.99971225705559398224e8, 4.52228297998194034323e11, -7.27494245221818276015e13, 3.68295732863852883286e15),
    (6.20836478118054335476e2, 2.56987256757748830383e5, 8.35146791431949253037e7, 2.21511595479792499675e10,
     4.74914122079991414898e12, 7.84369607876235854894e14, 8.95222336184627338078e16, 5.32278620332680085395e18),
)  # fmt: skip
_Y0_NEAR: Rational = (
    (1.55924367855235737965e4, -1.46639295903971606143e7, 5.43526477051876500413e9, -9.82136065717911466409e11,
     8.75906394395366999549e13, -3.46628303384729719441e15, 4.42733268572569800351e16, -1.84950800436986690637e16),
    (1.04128353664259848412e3, 6.26107330137134956842e5, 2.68919633393814121987e8, 8.64002487103935000337e10,
     2.02979612750105546709e13, 3.17157752842975028269e15, 2.50596256172653059228e17),
)  # fmt: skip
_Y1_NEAR: Rational = (
    (1.26320474790178026440e9, -6.47355876379160291031e11, 1.14509511541823727583e14, -8.12770255501325109621e15,
     2.02439475713594898196e17, -7.78877196265950026825e17),
    (5.94301592346128195359e2, 2.35564092943068577943e5, 7.34811944459721705660e7, 1.87601316108706159478e10,
     3.88231277496238566008e12, 6.20557727146953693363e14, 6.87141087355300489866e16, 3.97270608116560655612e18),
)  # fmt: skip
# Beyond 5, over 25 / x²: Hankel's P and Q for order 0, then for order 1.
_HANKEL_0: tuple[Rational, Rational] = (
    (
        (7.96936729297347051624e-4, 8.28352392107440799803e-2, 1.23953371646414299388, 5.44725003058768775090,
         8.74716500199817011941, 5.30324038235394892183, 1.0),
        (9.24408810558863637013e-4, 8.56288474354474431428e-2, 1.25352743901058953537, 5.47097740330417105182,
         8.76190883237069594232, 5.30605288235394617618, 1.0),
    ),
    (
        (-1.13663838898469149931e-2, -1.28252718670509318512, -1.95539544257735972385e1, -9.32060152123768231369e1,
         -1.77681167980488050595e2, -1.47077505154951170175e2, -5.14105326766599330220e1, -6.05014350600728481186),
        (6.43178256118178023184e1, 8.56430025976980587198e2, 3.88240183605401609683e3, 7.24046774195652478189e3,
         5.93072701187316984827e3, 2.06209331660327847417e3, 2.42005740240291393179e2),
    ),
)  # fmt: skip
_HANKEL_1: tuple[Rational, Rational] = (
    (
        (7.62125616208173112003e-4, 7.31397056940917570436e-2, 1.12719608129684925192, 5.11207951146807644818,
         8.42404590141772420927, 5.21451598682361504063, 1.0),
        (5.71323128072548699714e-4, 6.88455908754495404082e-2, 1.10514232634061696926, 5.07386386128601488557,
         8.39985554327604159757, 5.20982848682361821619, 1.0),
    ),
    (
        (5.10862594750176621635e-2, 4.98213872951233449420, 7.58238284132545283818e1, 3.66779609360150777800e2,
         7.10856304998926107277e2, 5.97489612400613639965e2, 2.11688757100572135698e2, 2.52070205858023719784e1),
        (7.42373277035675149943e1, 1.05644886038262816351e3, 4.98641058337653607651e3, 9.56231892404756170795e3,
         7.99704160447350683650e3, 2.82619278517639096600e3, 3.36093607810698293419e2),
    ),
)  # fmt: skip

# Ai beyond 2.09 over 1 / ζ, and its two factors before -2.09 over 1 / ζ², where ζ = ⅔ |x|^1.5.
_AI_RIGHT: Rational = (
    (3.46538101525629032477e-1, 1.20075952739645805542e1, 7.62796053615234516538e1, 1.68089224934630576269e2,
     1.59756391350164413639e2, 7.05360906840444183113e1, 1.40264691163389668864e1, 1.0),
    (5.67594532638770212846e-1, 1.47562562584847203173e1, 8.45138970141474626562e1, 1.77318088145400459522e2,
     1.64234692871529701831e2, 7.14778400825575695274e1, 1.40959135607834029598e1, 1.0),
)  # fmt: skip
_AI_LEFT_SINE: Rational = (
    (-1.31696323418331795333e-1, -6.26456544431912369773e-1, -6.93158036036933542233e-1, -2.79779981545119124951e-1,
     -4.91900132609500318020e-2, -4.06265923594885404393e-3, -1.59276496239262096340e-4, -2.77649108155232920844e-6,
     -1.67787698489114633780e-8),
    (1.33560420706553243746e1, 3.26825032795224613948e1, 2.67367040941499554804e1, 9.18707402907259625840,
     1.47529146771666414581, 1.15687173795188044134e-1, 4.40291641615211203805e-3, 7.54720348287414296618e-5,
     4.51850092970580378464e-7),
)  # fmt: skip
_AI_LEFT_COSINE: Rational = (
    (1.97339932091685679179e-2, 3.91103029615688277255e-1, 1.06579897599595591108, 9.39169229816650230044e-1,
     3.51465656105547619242e-1, 6.33888919628925490927e-2, 5.85804113048388458567e-3, 2.82851600836737019778e-4,
     6.98793669997260967291e-6, 8.11789239554389293311e-8, 3.41551784765923618484e-10),
    (9.30892908077441974853, 1.98352928718312140417e1, 1.55646628932864612953e1, 5.47686069422975497931,
     9.54293611618961883998e-1, 8.64580826352392193095e-2, 4.12656523824222607191e-3, 1.01259085116509135510e-4,
     1.17166733214413521882e-6, 4.91834570062930015649e-9),
)  # fmt: skip
_AI_AT_0, _MINUS_AI_SLOPE_AT_0 = 0.355028053887817239, 0.258819403792806798
_AI_UNDERFLOW = 103.892
# Ai's power series over x³: that of 1 + x³/6 + … and that of x + x⁴/12 + …, divided by x.
_AI_EVEN = tuple(1 / prod((3 * j) * (3 * j - 1) for j in range(1, k + 1)) for k in range(14, -1, -1))
_AI_ODD = tuple(1 / prod((3 * j) * (3 * j + 1) for j in range(1, k + 1)) for k in range(14, -1, -1))


def bessel_j0(xp: Namespace, x: Array) -> Array:
    """J0: a fraction in x² up to 5, Hankel's expansion beyond."""
    x = xp.absolute(x)
    return xp.where(x <= 5, _j0_near(x), _hankel(xp, x, pi / 4, _HANKEL_0)[0])


def bessel_j1(xp: Namespace, x: Array) -> Array:
    """J1: x times a fraction in x² up to 5, Hankel's expansion beyond."""
    far = _hankel(xp, xp.absolute(x), 3 * pi / 4, _HANKEL_1)[0]
    return xp.where(xp.absolute(x) <= 5, _j1_near(x), xp.where(x < 0, -far, far))


def bessel_y0(xp: Namespace, x: Array) -> Array:
    """Y0: a fraction in x² and 2/π log(x) J0(x) up to 5, Hankel's expansion beyond."""
    near = quotient(x * x, _Y0_NEAR) + 2 / pi * xp.log(x) * _j0_near(x)
    return xp.where(x <= 5, near, _hankel(xp, x, pi / 4, _HANKEL_0)[1])


def bessel_y1(xp: Namespace, x: Array) -> Array:
    """Y1: x times a fraction in x² and 2/π (log(x) J1(x) - 1/x) up to 5, Hankel's expansion beyond."""
    near = x * quotient(x * x, _Y1_NEAR) + 2 / pi * (_j1_near(x) * xp.log(x) - 1 / x)
    far = _hankel(xp, x, 3 * pi / 4, _HANKEL_1)[1]
    return xp.where(x == 0, -inf, xp.where(x <= 5, near, far))


def _j0_near(x: Array) -> Array:
    square = x * x
    first, second = _J0_ZEROS
    return (square - first) * (square - second) * quotient(square, _J0_NEAR)


def _j1_near(x: Array) -> Array:
    square = x * x
    first, second = _J1_ZEROS
    return quotient(square, _J1_NEAR) * x * (square - first) * (square - second)


def _hankel(xp: Namespace, x: Array, phase: float, factors: tuple[Rational, Rational]) -> tuple[Array, Array]:
    """J and Y as √(2 / πx) times P and 5/x Q turned by x - phase."""
    over = 25 / (x * x)
    p, q = quotient(over, factors[0]), 5 / x * quotient(over, factors[1])
    angle = x - phase
    sine, cosine, size = xp.sin(angle), xp.cos(angle), sqrt(2 / pi)
    return (p * cosine - q * sine) * size / xp.sqrt(x), (p * sine + q * cosine) * size / xp.sqrt(x)


def spherical_bessel_j0(xp: Namespace, x: Array) -> Array:
    """sin(x) / x, 1 at 0 and 0 at infinity."""
    return xp.where(x == 0, 1.0, xp.where(xp.isinf(x), 0.0, xp.sin(x) / x))


def airy_ai(xp: Namespace, x: Array) -> Array:
    """Ai: its power series around 0, asymptotic forms beyond ±2.09."""
    cube = x * x * x
    near = _AI_AT_0 * horner(cube, _AI_EVEN) - _MINUS_AI_SLOPE_AT_0 * (x * horner(cube, _AI_ODD))
    root = xp.sqrt(xp.absolute(x))
    zeta = 2 * xp.absolute(x) * root / 3
    inverse = 1 / zeta
    right = sqrt(1 / pi) * quotient(inverse, _AI_RIGHT) / (2 * xp.sqrt(root) * xp.exp(zeta))
    square = inverse * inverse
    sine_part = 1 + square * quotient(square, _AI_LEFT_SINE)
    cosine_part = inverse * quotient(square, _AI_LEFT_COSINE)
    angle = zeta + pi / 4
    left = sqrt(1 / pi) / xp.sqrt(root) * (xp.sin(angle) * sine_part - xp.cos(angle) * cosine_part)
    value = xp.where(x < -2.09, left, xp.where(x < 2.09, near, xp.where(x > _AI_UNDERFLOW, 0.0, right)))
    return xp.where(xp.isinf(x), nan, value)
