"""The special functions that NumPy lacks: true values, PyTorch's values, and no function that CuPy has not."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlite.operations.pointwise import special_kernels

inf, nan = math.inf, math.nan
DTYPES = [np.float32, np.float64]


def call(name, *args, xp=np, **keywords):
    with np.errstate(all="ignore"):
        return getattr(special_kernels, name)(xp, *args, **keywords)


def polygamma(order):
    return lambda lib, x: lib.polygamma(order, x)


@dataclass(frozen=True)
class Kernel:
    """A kernel, its name in torch.special, where to draw its arguments, and how near to PyTorch its values are."""

    name: str
    theirs: str = ""
    domains: tuple[tuple[float, float], ...] = ((-inf, inf),)
    rtol: dict = field(default_factory=lambda: {np.float32: 4e-6, np.float64: 2e-13})
    atol: dict = field(default_factory=lambda: {np.float32: 0.0, np.float64: 0.0})

    def torch(self, *args):
        torch = pytest.importorskip("torch")
        theirs = getattr(torch.special, self.theirs or self.name)
        return theirs(*map(torch.from_numpy, args)).numpy()


def absolute(single, double):
    """For functions with zeros, near which nobody's relative error is small."""
    return {np.float32: single, np.float64: double}


OSCILLATING = absolute(2e-6, 1e-14)
POLYNOMIALS = [name for name in dir(special_kernels) if "_polynomial_" in name]
KERNELS = [
    Kernel("erf"),
    Kernel("erfc"),
    Kernel("erfcx"),
    Kernel("erfinv", domains=((-1.1, 1.1),)),
    Kernel("ndtr", atol=absolute(5e-7, 1e-15)),
    Kernel("ndtri", domains=((-0.1, 1.1),)),
    Kernel("log_ndtr"),
    Kernel("lgamma", "gammaln", atol=absolute(4e-6, 1e-13)),
    Kernel("digamma", atol=absolute(4e-6, 1e-13)),
    Kernel("sinc", atol=OSCILLATING),
    Kernel("entr"),
    Kernel("i0"),
    Kernel("i0e"),
    Kernel("i1"),
    Kernel("i1e"),
    Kernel("bessel_j0", atol=OSCILLATING),
    Kernel("bessel_j1", atol=OSCILLATING),
    Kernel("bessel_y0", atol=OSCILLATING),
    Kernel("bessel_y1", atol=OSCILLATING),
    Kernel("modified_bessel_i0"),
    Kernel("modified_bessel_i1"),
    Kernel("modified_bessel_k0"),
    Kernel("modified_bessel_k1"),
    Kernel("scaled_modified_bessel_k0"),
    Kernel("scaled_modified_bessel_k1"),
    Kernel("spherical_bessel_j0", atol=OSCILLATING),
    Kernel("airy_ai", domains=((-1e3, 1e4),), atol=absolute(1e-4, 1e-12)),
    Kernel("xlogy", domains=((-inf, inf), (-inf, inf))),
    Kernel("xlog1py", domains=((-inf, inf), (-inf, inf))),
    Kernel("zeta", domains=((0, 60), (-0.0, 1e6))),
    Kernel("gammainc", domains=((-1, 1e4), (-1, 1e4)), atol=absolute(1e-5, 1e-9)),
    Kernel("gammaincc", domains=((-1, 1e4), (-1, 1e4)), atol=absolute(1e-5, 1e-9)),
]


def assert_like_torch(kernel, dtype, args):
    mine, theirs = call(kernel.name, *args), kernel.torch(*args)
    assert mine.dtype == dtype
    special = ~np.isfinite(theirs) | ~np.isfinite(mine) | ((mine == 0) & (theirs == 0))
    np.testing.assert_array_equal(mine[special], theirs[special])
    np.testing.assert_array_equal(
        np.signbit(mine)[special & (mine == mine)], np.signbit(theirs)[special & (mine == mine)]
    )
    subnormal = 2 * float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(
        mine[~special], theirs[~special], rtol=kernel.rtol[dtype], atol=max(kernel.atol[dtype], subnormal)
    )


def numbers(dtype, low, high):
    """Floats over all magnitudes of an interval and plenty of ordinary size, and nan."""

    def between(low, high):
        limits = [None if abs(limit) == inf else float(dtype(limit)) for limit in (low, high)]
        return st.floats(*limits, width=8 * np.dtype(dtype).itemsize, allow_nan=False, allow_subnormal=False)

    near = between(max(low, -20), min(high, 20))
    return st.one_of(near, between(low, high), near, st.just(nan))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_values_are_pytorchs(kernel, dtype, data):
    rows = data.draw(st.lists(st.tuples(*(numbers(dtype, *domain) for domain in kernel.domains)), min_size=1))
    assert_like_torch(kernel, dtype, [np.array(column, dtype) for column in zip(*rows)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_edges_are_pytorchs(kernel, dtype):
    info = np.finfo(dtype)
    ends = [0.0, info.tiny, 0.5, 1.0, 1.5, 2.0, 3.0, 90.0, 720.0, 1e5, info.max]
    axes = [[end for end in ends if end <= max(-low, high)] for low, high in kernel.domains]
    axes = [np.array([*axis, *np.negative(axis), inf, -inf, nan], dtype) for axis in axes]
    assert_like_torch(kernel, dtype, [axis.ravel() for axis in np.meshgrid(*axes)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 7, 40, 200])
def test_polygamma_is_pytorchs(order, dtype):
    torch = pytest.importorskip("torch")
    x = np.array(
        [-inf, -1e20, -7.0, -2.75, -0.375, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 1.5, 9.0, 60.0, 1e20, inf, nan], dtype
    )
    theirs = torch.polygamma(order, torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(call("polygamma", order, x), theirs, rtol=2e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_multigammaln_is_pytorchs(order):
    torch = pytest.importorskip("torch")
    x = np.linspace(order / 2, 30, 50)
    theirs = torch.special.multigammaln(torch.from_numpy(x), order).numpy()
    np.testing.assert_allclose(call("multigammaln", x, order), theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POLYNOMIALS)
@settings(max_examples=25, deadline=None)
@given(
    points=st.lists(st.one_of(st.floats(-2, 2, width=32), st.sampled_from([-1.0, -0.0, 0.0, 1.0])), min_size=1),
    degree=st.one_of(st.integers(-2, 12), st.floats(-2, 12, width=32), st.sampled_from([nan, inf, -inf])),
)
def test_polynomials_are_pytorchs(name, dtype, points, degree):
    x = np.array([*points, *np.linspace(-2, 2, 41)], dtype)
    n = np.full_like(x, degree)
    theirs = Kernel(name).torch(x, n)
    size = max(1.0, np.abs(theirs).max())
    np.testing.assert_allclose(call(name, x, n), theirs, rtol=0, atol=size * (5e-6 if dtype is np.float32 else 1e-13))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_at_their_edges_are_pytorchs(name, dtype):
    points = np.array([-inf, -1e30, -2, -1, -0.0, 0.0, 1e-20, 0.5, 1, 2, 1e30, inf], dtype)
    degrees = np.array([-inf, -1, -0.5, 0, 0.9, 1, 2, 3, 6, 8, 9, 20, 128, 513, 2000, nan, inf], dtype)
    x, n = (axis.ravel() for axis in np.meshgrid(points, degrees))
    tolerance = 2e-3 if dtype is np.float32 else 1e-11
    np.testing.assert_allclose(call(name, x, n), Kernel(name).torch(x, n), rtol=tolerance, atol=tolerance)


# Fifty-digit values, rounded.
TRUE_VALUES = [
    ("erf", (0.5,), 0.52049987781304653768),
    ("erf", (-3.0,), -0.99997790950300141456),
    ("erfc", (9.0,), 4.1370317465138102381e-37),
    ("erfcx", (50.0,), 0.011281536265323772500),
    ("erfinv", (0.999,), 2.3267537655135244939),
    ("ndtri", (1e-30,), -11.464024688443615727),
    ("log_ndtr", (-20.0,), -203.91715537109726394),
    ("lgamma", (0.25,), 1.2880225246980774573),
    ("lgamma", (-1.5,), 0.86004701537648101451),
    ("lgamma", (1e5,), 1051287.7089736568948),
    ("digamma", (0.1,), -10.423754940411076232),
    ("digamma", (-0.25,), 2.9141391202135278304),
    ("zeta", (2.0, 1.0), 1.6449340668482264365),
    ("zeta", (3.0, 0.25), 64.663869968768460167),
    ("gammainc", (0.5, 0.5), 0.68268949213708589717),
    ("gammainc", (1e4, 1e4), 0.50132980833995520038),
    ("gammaincc", (2.5, 10.0), 0.0012497305630313754119),
    ("gammaincc", (0.01, 0.1), 0.018135316050987344069),
    ("i0", (1.0,), 1.2660658777520083356),
    ("i1", (20.0,), 42454973.385127770181),
    ("i0e", (1e4,), 0.0039894726746047321064),
    ("modified_bessel_k0", (0.1,), 2.4270690247020166125),
    ("modified_bessel_k1", (5.0,), 0.0040446134454521642),
    ("spherical_bessel_j0", (1.0,), 0.84147098480789650665),
    ("legendre_polynomial_p", (0.3, 4.0), 0.0729375),
    ("laguerre_polynomial_l", (2.0, 3.0), -1 / 3),
    ("hermite_polynomial_h", (0.5, 5.0), 41.0),
    ("hermite_polynomial_he", (0.5, 5.0), 6.28125),
    ("chebyshev_polynomial_u", (0.5, 4.0), -1.0),
    ("shifted_chebyshev_polynomial_w", (1.0, 3.0), 7.0),
]


@pytest.mark.parametrize("name, args, value", TRUE_VALUES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_true(name, args, value, dtype):
    args = [np.array(arg, dtype) for arg in args]
    np.testing.assert_allclose(call(name, *args), value, rtol=3e-6 if dtype is np.float32 else 2e-14)


POLES_AND_LIMITS = [
    ("erf", (-0.0,), -0.0),
    ("erf", (inf,), 1.0),
    ("erfc", (0.0,), 1.0),
    ("erfc", (-inf,), 2.0),
    ("erfcx", (0.0,), 1.0),
    ("erfcx", (-inf,), inf),
    ("erfinv", (-1.0,), -inf),
    ("erfinv", (1.5,), nan),
    ("ndtri", (0.0,), -inf),
    ("ndtri", (-0.5,), nan),
    ("log_ndtr", (inf,), -0.0),
    ("lgamma", (-3.0,), inf),
    ("lgamma", (-inf,), inf),
    ("lgamma", (1.0,), 0.0),
    ("digamma", (0.0,), -inf),
    ("digamma", (-0.0,), inf),
    ("digamma", (-2.0,), nan),
    ("zeta", (1.0, nan), inf),
    ("zeta", (0.5, 2.0), nan),
    ("zeta", (3.0, -4.0), inf),
    ("gammainc", (0.0, 0.0), nan),
    ("gammainc", (inf, 1.0), 0.0),
    ("gammaincc", (2.0, inf), 0.0),
    ("i0", (inf,), nan),
    ("i1", (-0.0,), 0.0),
    ("i1e", (-inf,), -0.0),
    ("bessel_j1", (-0.0,), -0.0),
    ("bessel_y0", (0.0,), -inf),
    ("bessel_y1", (-1.0,), nan),
    ("modified_bessel_k1", (0.0,), inf),
    ("spherical_bessel_j0", (inf,), 0.0),
    ("airy_ai", (inf,), nan),
    ("sinc", (0.0,), 1.0),
    ("entr", (-1.0,), -inf),
    ("xlogy", (0.0, inf), 0.0),
    ("xlog1py", (0.0, nan), nan),
    ("chebyshev_polynomial_t", (nan, 0.0), 1.0),
    ("hermite_polynomial_h", (2.0, -1.0), 0.0),
]


@pytest.mark.parametrize("name, args, value", POLES_AND_LIMITS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_poles_and_limits(name, args, value, dtype):
    result = call(name, *(np.array(arg, dtype) for arg in args))
    np.testing.assert_array_equal(result, dtype(value))
    assert value != value or np.signbit(result) == np.signbit(value)


ALL = [(kernel.name, len(kernel.domains)) for kernel in KERNELS] + [(name, 2) for name in POLYNOMIALS]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name, arity", ALL)
def test_any_shape_goes_and_comes_back(name, arity, dtype):
    strided = np.linspace(0.05, 0.95, 24).astype(dtype).reshape(4, 6)[::2, ::3].T
    before = strided.copy()
    result = call(name, *[strided] * arity)
    assert (result.shape, result.dtype) == ((2, 2), dtype)
    np.testing.assert_array_equal(strided, before)
    scalar = call(name, *[strided[1, 1:2].reshape(())] * arity)
    assert (scalar.shape, scalar.dtype) == ((), dtype)
    np.testing.assert_allclose(scalar, result[1, 1], rtol=1e-6)
    assert call(name, *[np.empty((0, 3), dtype)] * arity).shape == (0, 3)
    if arity == 2:
        assert call(name, strided[:, :1], strided[0]).shape == (2, 2)


class OnlyWhatCupyHas:
    """NumPy without the functions that CuPy lacks."""

    def __init__(self, cupy):
        self.cupy = cupy

    def __getattr__(self, name):
        getattr(self.cupy, name)
        return getattr(np, name)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, arity", [*ALL, ("trigamma", 1)])
def test_kernels_use_only_what_cupy_has(name, arity):
    x = np.linspace(-0.9, 30.0, 64)
    call(name, *[x] * arity, xp=OnlyWhatCupyHas(pytest.importorskip("cupy")))
