"""Special functions: the error function, gamma, Bessel and polynomial families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.declare import Binary, Elementwise, Unary, aten, contiguous, describe, publish, publish_python
from ...core.machine import Tensor, functions
from ...core.values import dt, not_implemented_for
from ..vocabulary import TENSORS, undifferentiable
from . import special_kernels as kernels
from .arithmetic import multiply_by
from .elementary import round_decimals
from .selection import where

PRECISE = frozenset((dt.float32, dt.float64))

# What torch.special alone offers: torchlite/special.py hands it on.
special: dict[str, Callable[..., Any]] = {}


def _function(
    name: str, kernel: Callable[..., Any], vjp: Callable[..., Any] | None, in_torch: bool = True, **more: Any
) -> Unary:
    """A function of real numbers, in `torch` or in `torch.special`."""
    op = Unary(name, kernel, vjp, result="float", halves="wide", **{"dtypes": dt.FLOATS} | more)
    call = publish(op, function=in_torch, method=in_torch, inplace=in_torch)
    if not in_torch:
        special[name.removeprefix("special_")] = call
    return op


def _pair(name: str, kernel: Callable[..., Any], vjp: Any, in_torch: bool = False, **more: Any) -> Binary:
    """The same for two operands."""
    op = Binary(name, kernel, vjp, **{"dtypes": dt.FLOATS, "result": "float", "halves": "wide"} | more)
    special[name.removeprefix("special_")] = publish(op, function=in_torch, method=in_torch, inplace=in_torch)
    return op


# ---- the error function


def _gauss(self: Tensor) -> Tensor:
    """The derivative of erf, but for a factor."""
    return (-(self**2)).exp()


_SLOPE = 2 / math.sqrt(math.pi)


_function("erf", kernels.erf, lambda g, self: _gauss(self) * _SLOPE * g, label="erf_vml_cpu")
_function("erfc", kernels.erfc, lambda g, self: _gauss(self) * -_SLOPE * g, label="erfc_vml_cpu")
_function(
    "erfinv", kernels.erfinv, lambda g, self: (self.erfinv() ** 2).exp() * (math.sqrt(math.pi) / 2) * g,
    label="erfinv_vml_cpu",
)  # fmt: skip
_function(
    "special_erfcx", kernels.erfcx, lambda g, self, result: (2.0 * self * result - 2 / math.sqrt(math.pi)) * g,
    in_torch=False, dtypes=PRECISE, label="erfcx_cpu",
)  # fmt: skip
_function(
    "special_ndtr", kernels.ndtr, lambda g, self: (self * self * -0.5).exp() / math.sqrt(2 * math.pi) * g,
    in_torch=False, label="erf_vml_cpu",
    made_of=lambda self: lambda: multiply_by.apply(multiply_by.apply(self, 0.5**0.5).erf() + 1, 0.5),
)  # fmt: skip
_function(
    "special_ndtri", kernels.ndtri, lambda g, result: g * math.sqrt(2 * math.pi) * (result * result / 2).exp(),
    in_torch=False, dtypes=PRECISE, label="ndtri_cpu",
)  # fmt: skip
_function(
    "special_log_ndtr", kernels.log_ndtr,
    lambda g, self, result: g * ((-(result + self**2 / 2)).exp() / math.sqrt(2 * math.pi)),
    in_torch=False, dtypes=PRECISE, label="log_ndtr_cpu",
)  # fmt: skip
_function("special_entr", kernels.entr, lambda g, self: g * -(self.log() + 1), in_torch=False, label="entr_cpu")


# ---- the gamma function

lgamma = _function("lgamma", kernels.lgamma, lambda g, self: g * self.digamma(), label="lgamma_vml_cpu")
_function("digamma", kernels.digamma, lambda g, self: g * polygamma.apply(self, 1), label="digamma")


def _polygamma_order(self: Tensor, n: int) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n < 2 and self.dtype not in dt.FLOATS and self.dtype.category >= dt.FLOAT:
        raise not_implemented_for("trigamma" if n else "digamma", self.dtype)


polygamma: Elementwise = Elementwise(
    "polygamma(Tensor self, int n)",
    lambda xp, x, n: kernels.polygamma(xp, n, x),
    {"self": lambda g, self, n: g * polygamma.apply(self, n + 1)},
    check=_polygamma_order, result="float", dtypes=dt.FLOATS, halves="wide", label="polygamma",
    seen_as=lambda self, n: ("polygamma", (n, self)),
)  # fmt: skip
publish(polygamma, function=False, inplace=True)
aten["polygamma"] = special["polygamma"] = publish_python(
    "polygamma(int n, Tensor self)", lambda n, self: polygamma.apply(self, n), method=False
)


def _multigamma_order(self: Tensor, p: int) -> None:
    if self.dtype is dt.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


def _half_steps(p: int, like: Tensor) -> Tensor:
    """0, -½, -1, … for the p digammas of its derivative."""
    return functions["arange"](-p / 2 + 0.5, 0.5, 0.5, dtype=like.dtype, device=like.device)


mvlgamma = Elementwise(
    "mvlgamma(Tensor self, int p)",
    kernels.multigammaln,
    {"self": lambda g, self, p: g * (self.unsqueeze(-1) + _half_steps(p, self)).digamma().sum(-1)},
    check=_multigamma_order, arranged=contiguous, result="float", dtypes=dt.FLOATS, halves="wide", label="arange_cpu",
)  # fmt: skip
publish(mvlgamma, inplace=True)


def _gamma_density(self: Tensor, other: Tensor) -> Tensor:
    """The derivative of the incomplete gamma function in its second argument."""
    return ((self - 1) * other.log() - other - self.lgamma()).exp()


def _incomplete_gamma(name: str, kernel: Callable[..., Any], sign: int) -> Binary:
    unknown = undifferentiable(f"the derivative for '{name}: input' is not implemented.", NotImplementedError)
    return Binary(
        name, kernel, (unknown, lambda g, self, other: g * sign * _gamma_density(self, other)),
        schema=TENSORS, dtypes=dt.FLOATS, halves="wide",
    )  # fmt: skip


publish(_incomplete_gamma("igamma", kernels.gammainc, 1), inplace=True)
publish(_incomplete_gamma("igammac", kernels.gammaincc, -1), inplace=True)


# ---- x log y


def _no_slope(self: Tensor, other: Tensor, edge: float) -> Tensor:
    """Where zero times a logarithm that there is not is zero."""
    beyond = other <= edge
    return (self == 0.0) & beyond


xlogy: Binary = _pair(
    "xlogy", lambda xp, x, y: kernels.xlogy(xp, x, y).astype(x.dtype, copy=False),
    (
        lambda g, self, other: xlogy.apply(g, other).masked_fill(_no_slope(self, other, 0.0), 0.0),
        lambda g, self, other: g * self / other,
    ),
    in_torch=True, halves="own",
    number_nodes={"self": "XlogyBackward1", "other": "XlogyBackward2"},
)  # fmt: skip


def _xlog1py_of_other(g: Tensor, self: Tensor, other: Tensor) -> Tensor:
    divisor = other + 1
    return g * self / divisor


xlog1py: Binary = _pair(
    "special_xlog1py", lambda xp, x, y: kernels.xlog1py(xp, x, y).astype(x.dtype, copy=False),
    (
        lambda g, self, other: xlog1py.apply(g, other).masked_fill(_no_slope(self, other, -1.0), 0.0),
        _xlog1py_of_other,
    ),
    halves="own", label="xlog1py_cpu", node="SpecialXlog1PyBackward0",
    number_nodes={"self": "SpecialXlog1PyBackward1", "other": "SpecialXlog1PyBackward2"},
)  # fmt: skip
zeta: Binary = _pair(
    "special_zeta", kernels.zeta,
    (
        undifferentiable("the derivative for 'zeta' is not implemented.", NotImplementedError),
        lambda g, self, other: g * -self * zeta.apply(self + 1, other),
    ),
    dtypes=PRECISE, label="zeta_cpu",
    number_nodes={"self": "SpecialZetaBackward1", "other": "SpecialZetaBackward2"},
)  # fmt: skip


# ---- Bessel functions

_EPS = {dt.float16: 2.0**-10, dt.bfloat16: 2.0**-7, dt.float32: 2.0**-23, dt.float64: 2.0**-52}


def _check_wide(name: str, d: dt.dtype) -> None:
    if d in dt.HALVES:
        raise not_implemented_for(name, d)


def _i1_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    _check_wide("i1_backward", self.dtype)
    far = self.abs() > _EPS[self.dtype]
    x = where(far, self, _EPS[self.dtype])
    over = result * x.reciprocal()
    return g * where(far, x.i0() - over, 0.5)


def _i1e_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    _check_wide("i1e_backward", self.dtype)
    small = self.abs() <= _EPS[self.dtype]
    x = where(small, _EPS[self.dtype], self)
    return g * where(small, 0.5, i0e.apply(x) - result * (x.sgn() + x.reciprocal()))


_function("i0", kernels.i0, lambda g, self: g * i1.apply(self), label="i0_vml_cpu")
i0e: Unary = _function(
    "special_i0e", kernels.i0e, lambda g, self, result: g * (i1e.apply(self) - self.sgn() * result),
    in_torch=False, label="i0e_cpu", node="SpecialI0EBackward0",
)  # fmt: skip
i1: Unary = _function("special_i1", kernels.i1, _i1_vjp, in_torch=False, label="i1_cpu")
i1e: Unary = _function(
    "special_i1e", kernels.i1e, _i1e_vjp, in_torch=False, label="i1e_cpu", node="SpecialI1EBackward0",
)  # fmt: skip

for _name in (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
):  # fmt: skip
    _function(f"special_{_name}", getattr(kernels, _name), None, in_torch=False, dtypes=PRECISE, label=f"{_name}_cpu")


# ---- orthogonal polynomials

for _name in (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
):  # fmt: skip
    _op = Elementwise(
        f"special_{_name}(Operand x, Operand n)", getattr(kernels, _name),
        result="float", dtypes=PRECISE, label=f"{_name}_cpu",
    )  # fmt: skip
    special[_name] = publish(_op, function=False, method=False)


special["round"] = publish_python(
    "special_round(Tensor self, *, int decimals=0)",
    lambda self, decimals: round_decimals.apply(self, decimals),
    function=False,
    method=False,
)


describe(
    special_round="Each element rounded to the nearest whole number, or to so many decimals.",
    igamma="The regularized lower incomplete gamma function.",
    igammac="The regularized upper incomplete gamma function.", special_airy_ai="The Airy function Ai of each element.",
    special_bessel_j0="The Bessel function of the first kind of order 0.",
    special_bessel_j1="The Bessel function of the first kind of order 1.",
    special_bessel_y0="The Bessel function of the second kind of order 0.",
    special_bessel_y1="The Bessel function of the second kind of order 1.",
    special_chebyshev_polynomial_t="The Chebyshev polynomial of the first kind of degree `n`, at each element.",
    special_chebyshev_polynomial_u="The Chebyshev polynomial of the second kind of degree `n`, at each element.",
    special_chebyshev_polynomial_v="The Chebyshev polynomial of the third kind of degree `n`, at each element.",
    special_chebyshev_polynomial_w="The Chebyshev polynomial of the fourth kind of degree `n`, at each element.",
    digamma="The logarithmic derivative of the gamma function at each element.",
    special_entr="`-x * log(x)` of each element; 0 at 0.", erf="The error function of each element.",
    erfc="`1 - erf(x)` of each element, precise where that is small.",
    special_erfcx="`exp(x ** 2) * erfc(x)` of each element, precise where that overflows.",
    erfinv="The inverse of the error function at each element.",
    special_hermite_polynomial_h="The physicist's Hermite polynomial of degree `n`, at each element.",
    special_hermite_polynomial_he="The probabilist's Hermite polynomial of degree `n`, at each element.",
    i0="The modified Bessel function of the first kind of order 0.",
    special_i0e="`exp(-abs(x)) * i0(x)` of each element.",
    special_i1="The modified Bessel function of the first kind of order 1.",
    special_i1e="`exp(-abs(x)) * i1(x)` of each element.",
    special_laguerre_polynomial_l="The Laguerre polynomial of degree `n`, at each element.",
    special_legendre_polynomial_p="The Legendre polynomial of degree `n`, at each element.",
    lgamma="The logarithm of the absolute value of the gamma function at each element.",
    special_log_ndtr="The logarithm of the area under the normal density up to each element.",
    special_modified_bessel_i0="The modified Bessel function of the first kind of order 0.",
    special_modified_bessel_i1="The modified Bessel function of the first kind of order 1.",
    special_modified_bessel_k0="The modified Bessel function of the second kind of order 0.",
    special_modified_bessel_k1="The modified Bessel function of the second kind of order 1.",
    mvlgamma="The logarithm of the multivariate gamma function of dimension `p`, at each element.",
    special_ndtr="The area under the normal density up to each element.",
    special_ndtri="The point up to which the area under the normal density is each element.",
    polygamma="The `n`-th derivative of `digamma` at each element.",
    special_scaled_modified_bessel_k0="`exp(x) * modified_bessel_k0(x)` of each element.",
    special_scaled_modified_bessel_k1="`exp(x) * modified_bessel_k1(x)` of each element.",
    special_shifted_chebyshev_polynomial_t="The Chebyshev polynomial of the first kind of degree `n`, at `2 * x - 1`.",
    special_shifted_chebyshev_polynomial_u="The Chebyshev polynomial of the second kind of degree `n`, at `2 * x - 1`.",
    special_shifted_chebyshev_polynomial_v="The Chebyshev polynomial of the third kind of degree `n`, at `2 * x - 1`.",
    special_shifted_chebyshev_polynomial_w="The Chebyshev polynomial of the fourth kind of degree `n`, at `2 * x - 1`.",
    special_spherical_bessel_j0="The spherical Bessel function of the first kind of order 0: `sin(x) / x`.",
    special_xlog1py="`input * log1p(other)`; 0 where `input` is 0.",
    xlogy="`input * log(other)`; 0 where `input` is 0.",
    special_zeta="The Hurwitz zeta function of exponent `input` and offset `other`.",
)  # fmt: skip
