"""Elementary functions of one variable (and the arc tangent of two)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Binary, Elementwise, Unary, conj, describe, publish
from ...core.machine import Tensor, TensorBase, fitting_array
from ...core.state import is_watched, local
from ...core.values import Array, Namespace, dt, not_implemented_for, strided, warn_once
from ..formulas import nought
from ..vocabulary import INEXACT, REAL, TENSORS, before_out, no_complex, zero_gradient
from . import special_kernels
from .selection import where

# ---- derivatives that are ops of their own where tensors are differentiated, and formulas elsewhere


def _by_result(name: str, slope: Callable[[Any], Any], bend: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The derivative that is a `slope`, a function of the result, with `bend` for its own derivative by that."""
    back: Elementwise = Elementwise(
        f"{name}_backward(Tensor grad_output, Tensor output)",
        lambda xp, g, output: g * xp.conjugate(slope(output)),
        {"grad_output": lambda g, output: back.apply(g, conj(output)), "output": bend},
        halves="wide",
    )  # fmt: skip
    publish(back, function=False, method=False)
    return lambda g, result: back.apply(g, result) if isinstance(g, Tensor) else g * conj(slope(result))


_tanh_backward = _by_result(
    "tanh", lambda y: 1 - y * y, lambda g, grad_output, output: conj(g) * (-2 * conj(output) * grad_output)
)
_sigmoid_backward = _by_result(
    "sigmoid", lambda y: (1 - y) * y, lambda g, grad_output, output: conj(g) * grad_output * (1 - 2 * conj(output))
)

# ---- exponential, trigonometric and hyperbolic functions: name, NumPy's name, derivative

# Those whose derivative takes operators alone.
_ALGEBRAIC: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("exp", "exp", lambda g, result: g * conj(result)),
    ("exp2", "exp2", lambda g, result: g * conj(result) * math.log(2)),
    ("expm1", "expm1", lambda g, result: g * (conj(result) + 1)),
    ("log", "log", lambda g, self: g / conj(self)),
    ("log2", "log2", lambda g, self: g / (conj(self) * math.log(2))),
    ("log10", "log10", lambda g, self: g / (conj(self) * 2.3025850929940456)),
    ("log1p", "log1p", lambda g, self: _log1p_vjp(g, self)),
    ("tan", "tan", lambda g, result: g * conj(1 + result**2)),
    ("tanh", "tanh", _tanh_backward),
    ("atan", "arctan", lambda g, self: g / conj(self * self + 1)),
    ("atanh", "arctanh", lambda g, self: g / conj(1 - self * self)),
)


def _log1p_vjp(g: Any, self: Any) -> Any:
    """One is added to what a sparse tensor is when it is dense."""
    if isinstance(self, TensorBase) and self.layout is not strided:
        warn_once(
            "log1p_backward: received self with sparse layout, but backward requires materialization of a dense tensor "
            "with this shape"
        )
        self = self.to_dense()
        if g.layout is not strided:
            return g * (conj(self) + 1).reciprocal()
    return g / (conj(self) + 1)


def _acosh_vjp(g: Tensor, self: Tensor) -> Tensor:
    """For complex numbers the branch cut decides how the root is taken."""
    if self.dtype.is_complex:
        return g * conj((self - 1).rsqrt() * (self + 1).rsqrt())
    return g * (self * self - 1).rsqrt()


_TRANSCENDENTAL: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("sin", "sin", lambda g, self: g * conj(self.cos())),
    ("cos", "cos", lambda g, self: g * -conj(self.sin())),
    ("sinh", "sinh", lambda g, self: g * conj(self.cosh())),
    ("cosh", "cosh", lambda g, self: g * conj(self.sinh())),
    ("asin", "arcsin", lambda g, self: g * conj((-self * self + 1).rsqrt())),
    ("acos", "arccos", lambda g, self: g * -conj((-self * self + 1).rsqrt())),
    ("asinh", "arcsinh", lambda g, self: g * conj((self**2 + 1).rsqrt())),
    ("acosh", "arccosh", _acosh_vjp),
)
for _table in (_ALGEBRAIC, _TRANSCENDENTAL):
    for _name, _numpy, _vjp in _table:
        _node = "Log1PBackward0" if _name == "log1p" else None
        _op = Unary(_name, _numpy, _vjp, result="float", operators=_table is _ALGEBRAIC, node=_node)
        publish(_op, names=_name if _name == _numpy else (_name, _numpy), inplace=True)


def _atan2_vjp(g: Tensor, self: Tensor, other: Tensor, needs: Sequence[bool]) -> list[Tensor | None]:
    """The other coordinate over self² + other²; nothing for the angle of nothing."""
    squares = self * self + other * other
    inverse = squares.reciprocal().masked_fill(squares == 0, 0)
    return [g * other * inverse if needs[0] else None, g * -self * inverse if needs[1] else None]


atan2 = Binary(
    "atan2",
    "arctan2",
    _atan2_vjp,
    schema=TENSORS, result="float", dtypes=dt.FLOATS,
)  # fmt: skip
publish(atan2, names=("atan2", "arctan2"), inplace=True)


# ---- sigmoid and its inverse


def _sigmoid(xp: Namespace, x: Array) -> Array:
    below = xp.exp(xp.negative(x))
    below += 1
    return xp.divide(x.dtype.type(1), below)


sigmoid = Unary(
    "sigmoid", _sigmoid, _sigmoid_backward,
    result="float", halves="wide", operators=True,
)  # fmt: skip
publish(sigmoid, inplace=True)


def _logit(xp: Namespace, x: Array, eps: float | None) -> Array:
    if eps is not None:
        least, most = x.dtype.type(eps), x.dtype.type(1 - eps)
        x = xp.where(x < least, least, xp.minimum(x, most))  # the least, where it is more than the most
    return xp.log(x / (1 - x))


def _check_eps(self: Tensor, eps: float | None) -> None:
    if eps is not None:
        fitting_array(eps, self.dtype if self.is_floating_point() else dt.get_default_dtype(), self._backend.real)


def _logit_slope(xp: Namespace, g: Any, x: Array, eps: float | None) -> Array:
    slope = g / (x * (1 - x))
    if eps is None:
        return xp.where((x < 0) | (x > 1), x.dtype.type(math.nan), slope)
    return xp.where((x >= eps) & (x <= 1 - eps), slope, x.dtype.type(0))


logit_backward = Elementwise(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None)", _logit_slope, dtypes=dt.FLOATS
)


def _logit_vjp(g: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """In one operation, unless it is to be differentiated."""
    if not local.state.mode.grad:
        return logit_backward.apply(g, self, eps)
    slope = g / (self * (1 - self))
    if eps is None:
        return where((self < 0) | (self > 1), math.nan, slope)
    return where((self >= eps) & (self <= 1 - eps), slope, 0)


logit = Elementwise(
    "logit(Tensor self, float? eps=None)", _logit, {"self": _logit_vjp}, result="float", dtypes=dt.FLOATS,
    check=_check_eps,
)  # fmt: skip
publish(logit, inplace=True)


# ---- degrees


def _scaled(name: str, factor: float, node: str) -> Unary:
    return Unary(
        name, lambda xp, x: x * factor, lambda g: g * factor, result="float", halves="wide", node=node,
        refuse=no_complex(RuntimeError, f"{name} is not supported for complex tensors."),
    )  # fmt: skip


publish(_scaled("deg2rad", math.pi / 180, "Deg2RadBackward0"), inplace=True)
publish(_scaled("rad2deg", 180 / math.pi, "Rad2DegBackward0"), inplace=True)


# ---- whole numbers


def _whole(kernel: str) -> Callable[[Any, Any], Any]:
    """Integers are whole already."""
    return lambda xp, x: x.copy("K") if x.dtype.kind in "iu" else getattr(xp, kernel)(x)


for _name, *_aliases in (("floor",), ("ceil",), ("trunc", "fix")):
    _refuse = no_complex(NotImplementedError, f"{_name} is not supported for complex inputs")
    publish(
        Unary(
            _name, _whole(_name), zero_gradient, dtypes=REAL | dt.UNSIGNED, label=f"{_name}_vml_cpu",
            refuse=_refuse, check_out=before_out(_refuse),
        ),
        names=(_name, *_aliases), inplace=True,
    )  # fmt: skip


def _round(xp: Namespace, x: Array, decimals: int) -> Any:
    """Half to even, at a number of decimal places (or, when negative, of zeros)."""
    if decimals == 0:
        return xp.rint(x)
    power = x.dtype.type(10.0 ** abs(decimals) if abs(decimals) < 309 else float("inf"))
    return xp.rint(x * power) / power if decimals > 0 else xp.rint(x / power) * power


round_ = Unary("round", _whole("rint"), zero_gradient, dtypes=REAL | dt.UNSIGNED, label="round_vml_cpu")


def _check_decimals(self: Tensor, decimals: int) -> None:
    if decimals == 0 and self.dtype not in dt.FLOATS:
        raise not_implemented_for("round_vml_cpu", self.dtype)


round_decimals = Elementwise(
    "round.decimals(Tensor self, *, int decimals)", _round, {"self": zero_gradient},
    dtypes=dt.FLOATS, halves="wide", node="RoundBackward1", check_form=_check_decimals,
)  # fmt: skip
publish(round_, round_decimals, inplace=True)
frac = Unary("frac", lambda xp, x: x - xp.trunc(x), lambda g: g, dtypes=dt.FLOATS, halves="wide")
publish(frac, inplace=True)


def _floating_only(d: dt.dtype) -> Exception | None:
    return None if d.is_floating_point else RuntimeError("torch.frexp() only supports floating-point dtypes")


frexp = Elementwise(
    "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    "frexp",
    {"self": lambda g, exponent: g / 2.0 ** exponent.to(g.dtype)},
    result=("same", dt.int32), refuse=_floating_only, halves="wide", exact_out=True,
)  # fmt: skip
publish(frexp)


# ---- sums of exponentials


def _logaddexp(xp: Namespace, self: Array, other: Any) -> Array:
    if self.dtype.kind != "c":
        return xp.logaddexp(self, other)
    swap = other.real > self.real
    high, low = xp.where(swap, other, self), xp.where(swap, self, other)
    same = (high == low) & ~xp.isfinite(high.real)
    return xp.where(same & (high.real < 0), high, high + xp.log1p(xp.exp(xp.where(same, 0, low - high))))


logaddexp = Binary(
    "logaddexp",
    _logaddexp,
    (
        lambda g, self, other: g / conj(1 + (other - self).exp()),
        lambda g, self, other: g / conj(1 + (self - other).exp()),
    ),
    schema=TENSORS, dtypes=INEXACT, halves="wide",
)  # fmt: skip
publish(logaddexp)
logaddexp2 = Binary(
    "logaddexp2",
    "logaddexp2",
    (lambda g, self, other: g / (1 + 2 ** (other - self)), lambda g, self, other: g / (1 + 2 ** (self - other))),
    schema=TENSORS, dtypes=dt.FLOATS, halves="wide",
)  # fmt: skip
publish(logaddexp2)


# ---- sinc


def _sinc_vjp(g: Tensor, self: Tensor) -> Tensor:
    angle = self * math.pi
    square = angle * self
    sine = (self * math.pi if is_watched() else angle).sin()
    slope = g * conj((angle * angle.cos() - sine) / square)
    zero = nought(g)
    return where(square == 0.0, zero, slope)


sinc = Unary("sinc", special_kernels.sinc, _sinc_vjp, result="float", halves="wide")
publish(sinc, inplace=True)


describe(
    acos="The inverse cosine of each element, in radians.", acosh="The inverse hyperbolic cosine of each element.",
    asin="The inverse sine of each element, in radians.", asinh="The inverse hyperbolic sine of each element.",
    atan="The inverse tangent of each element, in radians.",
    atan2="The angle of the point `(other, input)` in the plane, in radians from -pi to pi.",
    atanh="The inverse hyperbolic tangent of each element.",
    ceil="The smallest whole number that is not less than each element.", cos="The cosine of each element, in radians.",
    cosh="The hyperbolic cosine of each element.", deg2rad="Degrees made radians.",
    exp="e to the power of each element.", exp2="2 to the power of each element.",
    expm1="`exp(x) - 1` of each element, precise near zero.",
    trunc="The whole part of each element: rounded towards zero.",
    floor="The largest whole number that is not more than each element.",
    frac="What is left of each element without its whole part; the sign stays.",
    frexp="The mantissa and the exponent of each element: `(mantissa, exponent)`, `input = mantissa * 2 ** exponent`.",
    log="The natural logarithm of each element.", log10="The logarithm to base 10 of each element.",
    log1p="`log(1 + x)` of each element, precise near zero.", log2="The logarithm to base 2 of each element.",
    logaddexp="`log(exp(x) + exp(y))`, computed stably.", logaddexp2="`log2(2 ** x + 2 ** y)`, computed stably.",
    logit="`log(x / (1 - x))` of each element, which `eps` keeps away from 0 and 1.", rad2deg="Radians made degrees.",
    round="Each element rounded to the nearest whole number, or to so many decimals; halves to the even one.",
    sigmoid="`1 / (1 + exp(-x))` of each element.", sin="The sine of each element, in radians.",
    sinc="`sin(pi * x) / (pi * x)` of each element; 1 at 0.", sinh="The hyperbolic sine of each element.",
    tan="The tangent of each element, in radians.", tanh="The hyperbolic tangent of each element.",
)  # fmt: skip
