"""Kernels of the special functions that NumPy and CuPy lack.

Each is a plain function over an array namespace: `erf(xp, x)` takes float32 or float64 arrays of that namespace and
gives an array (or, for 0-d ones under NumPy, a scalar) of the same dtype. Only functions that NumPy and CuPy share are
used. Callers widen narrower floats and silence floating-point warnings. Poles, infinities, signed zeros and nan come
out as PyTorch has them, and so do the few values it has that are less exact than they could be.
"""

from .bessel import airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0
from .elementary import entr, sinc, xlog1py, xlogy
from .error import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .gamma import digamma, lgamma, multigammaln, polygamma, trigamma, zeta
from .implicit import beta_shift, gamma_shift
from .incomplete_gamma import gammainc, gammaincc
from .modified_bessel import (
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
)
from .orthogonal import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
