"""Activations: functions of one variable that bend, each with its gradient as an op of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import (
    ITSELF,
    Along,
    By,
    Elementwise,
    Op,
    Unary,
    as_operand,
    contiguous,
    describe,
    publish,
    published,
)
from ...core.machine import LEADING, NOT_IMPLEMENTED, Tensor, functions
from ...core.values import Array, Backend, Namespace, dt, not_implemented_for, result_strides, wrap_dim
from ...kernels.summing import widened
from ..formulas import sigmoid
from ..gradient_kernels import by_kernel
from ..shapes.joining import cat
from ..vocabulary import REAL, zero_gradient
from . import special_kernels
from .rectifiers import slope_refused
from .selection import where

_FLOATS: dict[str, Any] = {"dtypes": dt.FLOATS, "halves": "wide"}


# ---- piecewise linear: kinks, and straight lines between them


def _hardtanh_refuses(d: dt.dtype) -> Exception | None:
    if d is dt.bool_:
        return RuntimeError("Bool inputs not supported for hardtanh")
    return NotImplementedError("clamp is not supported for complex types") if d.is_complex else None


def _check_limits(self: Tensor, min_val: Any, max_val: Any) -> None:
    if self.dtype is dt.uint8 and min(min_val, max_val) <= -1:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def _whole_limits(op: Elementwise, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """Of integers, the limits have no fractions."""
    x, *limits = values
    if x.dtype.category == dt.INT:
        limits = [int(n) if abs(n) < 1 << 63 else n for n in limits]
    return Elementwise.prepare(op, [x, *limits], backend)


def _hardtanh(xp: Namespace, x: Array, low: Any, high: Any) -> Array:
    number = x.dtype.type
    return xp.minimum(number(high), xp.maximum(number(low), x))  # of zeros of two signs, the operand's


hardtanh_backward = Elementwise(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)",
    lambda xp, g, x, low, high: xp.where((x <= low) | (x >= high), 0, g),
    {"grad_output": ITSELF, "self": zero_gradient},
    **_FLOATS,
)
hardtanh_ = Elementwise(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
    _hardtanh,
    {"self": hardtanh_backward},
    dtypes=REAL, refuse=_hardtanh_refuses, check_form=_check_limits, prepare=_whole_limits, by_form=True,
    on_arrays=by_kernel,
)  # fmt: skip
hardtanh, hardtanh_in_place = publish(hardtanh_, function=False, method=False), hardtanh_.inplace(False)

hardsigmoid_backward = Elementwise(
    "hardsigmoid_backward(Tensor grad_output, Tensor self)",
    lambda xp, g, x: xp.where((x > -3) & (x < 3), g / 6, 0),
    {"grad_output": zero_gradient, "self": zero_gradient},
    node=NOT_IMPLEMENTED,
    **_FLOATS,
)
hardsigmoid_ = Unary(
    "hardsigmoid", lambda xp, x: xp.minimum(xp.maximum(x + 3, 0), 6) / 6, hardsigmoid_backward,
    **_FLOATS, on_arrays=by_kernel,
)  # fmt: skip
hardsigmoid, hardsigmoid_in_place = publish(hardsigmoid_, function=False, method=False), hardsigmoid_.inplace(False)

hardswish_backward = Elementwise(
    "hardswish_backward(Tensor grad_output, Tensor self)",
    lambda xp, g, x: xp.where(x <= -3, 0, xp.where(x < 3, g * (x / 3 + 0.5), g)),
    {
        "grad_output": ITSELF,
        "self": lambda g, grad_output, self: where((self > -3) & (self < 3), g * grad_output / 3, 0),
    },
    **_FLOATS,
)
hardswish_ = Unary(
    "hardswish", lambda xp, x: x * xp.minimum(xp.maximum(x + 3, 0), 6) / 6, hardswish_backward,
    **_FLOATS, on_arrays=by_kernel,
)  # fmt: skip
hardswish, hardswish_in_place = publish(hardswish_, function=False, method=False), hardswish_.inplace(False)


def _shrink(name: str, gradient: str, kernel: Callable[..., Any], halves: str, **more: Any) -> Elementwise:
    """A function that is zero, and flat, between -lambd and lambd."""
    back = Elementwise(
        f"{name}_backward(Tensor {gradient}, Tensor self, Scalar lambd)",
        lambda xp, g, x, lambd: xp.where((x >= -lambd) & (x <= lambd), g.dtype.type(0), g),
        {gradient: ITSELF, "self": zero_gradient},
        dtypes=dt.FLOATS, halves="rounded",
    )  # fmt: skip
    schema = f"{name}(Tensor self, Scalar lambd=0.5)"
    return Elementwise(schema, kernel, {"self": back}, dtypes=dt.FLOATS, halves=halves, **more, on_arrays=by_kernel)


def _check_lambd(self: Tensor, lambd: Any) -> None:
    if self.dtype not in dt.FLOATS:
        raise not_implemented_for("softshrink_check", self.dtype)
    largest = dt.finfo(self.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {self.dtype.legacy}, but found {lambd:g}"
        )


hardshrink = publish(
    _shrink(
        "hardshrink", "grad_out",
        lambda xp, x, lambd: xp.where((x >= -lambd) & (x <= lambd), x.dtype.type(0), x), halves="rounded",
    ),
)  # fmt: skip
softshrink = publish(
    _shrink(
        "softshrink", "grad_output",
        lambda xp, x, lambd: xp.where(x > lambd, x - lambd, xp.where(x < -lambd, x + lambd, x * 0)),
        check_form=_check_lambd, halves="wide",
    ),
    function=False, method=False,
)  # fmt: skip


# ---- exponential below zero


def _elu(xp: Namespace, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    below = xp.expm1(xp.minimum(0, x) * input_scale)  # of zeros of two signs, the operand's
    return xp.where(x <= 0, below * (alpha * scale), x * scale)


def _elu_slope(
    xp: Namespace, g: Array, alpha: float, scale: float, input_scale: float, is_result: bool, x: Array
) -> Any:
    if is_result:
        return g * xp.where(x <= 0, (x + alpha * scale) * input_scale, scale)
    return g * xp.where(x <= 0, xp.exp(xp.minimum(x, 0) * input_scale) * (input_scale * alpha * scale), scale)


def _elu_bend(
    g: Tensor, grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool,
    self_or_result: Tensor,
) -> Tensor:  # fmt: skip
    both = g * grad_output
    if is_result:
        return where(self_or_result < 0, both * input_scale, 0)
    bend = (self_or_result * input_scale).exp() * (input_scale * input_scale * alpha * scale)
    return where(self_or_result < 0, both * bend, 0)


elu_backward = Elementwise(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
    "Tensor self_or_result)",
    _elu_slope,
    {"grad_output": ITSELF, "self_or_result": _elu_bend},
    **_FLOATS,
)
_ELU = "Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1"


def _elu_in_place_vjp(g: Tensor, result: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    if alpha < 0:
        raise slope_refused("elu")
    return elu_backward.apply(g, alpha, scale, input_scale, True, result)


elu_ = Elementwise(
    f"elu({_ELU})", _elu, {"self": By(elu_backward, {"self_or_result": "self"}, is_result=False)}, **_FLOATS
)
elu_in_place_ = Elementwise(
    f"elu._({_ELU})", _elu, {"self": _elu_in_place_vjp}, node="EluBackward1", label="elu_cpu", **_FLOATS
)
elu, elu_in_place = publish(elu_, function=False, method=False), elu_in_place_.inplace(False)

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@published("selu(Tensor self)", method=False)
def selu(self: Tensor) -> Tensor:
    """`elu` with the constants that keep mean and variance as they are."""
    return elu_.apply(self, SELU_ALPHA, SELU_SCALE, 1)


@published("selu_(Tensor self)", method=False)
def selu_in_place(self: Tensor) -> Tensor:
    """`selu`, into its operand."""
    return elu_in_place_.apply_in_place([self, SELU_ALPHA, SELU_SCALE, 1])


def _check_alpha(self: Tensor, alpha: float) -> None:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


def _celu(xp: Namespace, x: Array, alpha: float) -> Any:
    return _elu(xp, x, alpha, 1, 1 / alpha)


celu = Elementwise(
    "celu(Tensor self, Scalar alpha=1.0)",
    _celu,
    {"self": lambda g, self, alpha: elu_backward.apply(g, alpha, 1, 1 / alpha, False, self)},
    check_form=_check_alpha, label="elu_cpu", **_FLOATS,
)  # fmt: skip
celu_in_place = Elementwise(
    "celu._(Tensor self, Scalar alpha=1.0)", _celu,
    {"self": lambda g, result, alpha: elu_backward.apply(g, alpha, 1, 1 / alpha, True, result)},
    node="CeluBackward1", check_form=_check_alpha, label="elu_cpu", **_FLOATS,
)  # fmt: skip
publish(celu, method=False)
functions["celu_"] = celu_in_place.inplace(False)


# ---- smooth

_ROOT_HALF = math.sqrt(0.5)
_FEW = 64
_DENSITY = 1 / math.sqrt(2 * math.pi)  # of the normal distribution, at zero
_TANH_SCALE, _TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


def _check_approximate(self: Tensor, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


def _erf(xp: Namespace, x: Array) -> Array:
    """The error function; of few numbers in the host's memory one by one, which is faster there."""
    if x.size <= _FEW and getattr(xp, "__name__", "") == "numpy":
        return xp.array(list(map(math.erf, x.ravel().tolist())), x.dtype).reshape(x.shape)
    return xp.asarray(special_kernels.erf(xp, x))


def gelu_kernel(xp: Namespace, x: Array, approximate: str) -> Any:
    if approximate == "tanh":
        return (1 + xp.tanh(_TANH_SCALE * (x + _TANH_CUBE * x * x * x))) * (x * 0.5)
    made = _erf(xp, x * _ROOT_HALF)
    made += 1
    made *= x
    made *= 0.5
    return made


def gelu_slope(xp: Namespace, g: Array, x: Array, approximate: str) -> Any:
    square = x * x
    if approximate == "tanh":
        t = xp.tanh(_TANH_SCALE * (x + _TANH_CUBE * square * x))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_TANH_SCALE * (1 + 3 * _TANH_CUBE * square)))
    made = _erf(xp, x * _ROOT_HALF)
    made += 1
    made *= 0.5
    square *= -0.5
    bell = xp.exp(square)
    bell *= x
    bell *= _DENSITY
    made += bell
    return made * g


def _gelu_bend(g: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    x, square = self, self * self
    if approximate == "tanh":
        t = (_TANH_SCALE * (x + _TANH_CUBE * square * x)).tanh()
        inner = _TANH_SCALE * (1 + 3 * _TANH_CUBE * square)
        bend = (1 - t * t) * (inner - x * t * inner * inner + x * x * (3 * _TANH_SCALE * _TANH_CUBE))
    else:
        bend = (square * -0.5).exp() * _DENSITY * (2 - square)
    return g * grad_output * bend


gelu_backward = Elementwise(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none')",
    gelu_slope,
    {"grad_output": ITSELF, "self": _gelu_bend},
    label="GeluBackwardKernelImpl", **_FLOATS,
)  # fmt: skip
gelu_ = Elementwise(
    "gelu(Tensor self, *, str approximate='none')",
    gelu_kernel,
    {"self": gelu_backward},
    check_form=_check_approximate, label="GeluKernelImpl", **_FLOATS, on_arrays=by_kernel,
)  # fmt: skip
gelu = publish(gelu_, function=False, method=False)


def _silu_slope(xp: Namespace, g: Array, x: Array) -> Any:
    s = sigmoid(xp, x)
    return g * (s * (1 + x * (1 - s)))


def _silu_bend(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    s = self.sigmoid()
    return g * grad_output * (s * (1 - s) * (2 + self * (1 - 2 * s)))


silu_backward = Elementwise(
    "silu_backward(Tensor grad_output, Tensor self)", _silu_slope, {"grad_output": ITSELF, "self": _silu_bend},
    node="MulBackward0", **_FLOATS,
)  # fmt: skip
silu_ = Unary(
    "silu", lambda xp, x: x / (1 + xp.exp(-x)), silu_backward, dtypes=dt.FLOATS | dt.COMPLEXES, halves="wide",
    complex_gradients=False, direct=dt.FLOATS, on_arrays=by_kernel,
)  # fmt: skip
silu, silu_in_place = publish(silu_, function=False, method=False), silu_.inplace(False)


def _mish_slope(xp: Namespace, g: Array, x: Array) -> Any:
    t = xp.tanh(xp.log1p(xp.exp(x)))
    return g * (t + x * sigmoid(xp, x) * (1 - t * t))


def _mish_bend(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    s = self.sigmoid()
    t = self.exp().log1p().tanh()
    return g * grad_output * ((1 - t * t) * s * (2 + self * (1 - s - 2 * t * s)))


mish_backward = Elementwise(
    "mish_backward(Tensor grad_output, Tensor self)", _mish_slope, {"grad_output": ITSELF, "self": _mish_bend},
    node="MulBackward0", **_FLOATS,
)  # fmt: skip
mish_ = Unary("mish", lambda xp, x: x * xp.tanh(xp.log1p(xp.exp(x))), mish_backward, **_FLOATS, on_arrays=by_kernel)
mish, mish_in_place = publish(mish_, function=False, method=False), mish_.inplace(False)


def _softplus(xp: Namespace, x: Array, beta: float, threshold: float) -> Array:
    steep = x * beta
    return xp.where(steep > threshold, x, xp.log1p(xp.exp(steep)) / beta)


def _softplus_bend(g: Tensor, grad_output: Tensor, self: Tensor, beta: float, threshold: float) -> Tensor:
    s = (self * beta).sigmoid()
    return g * grad_output * (s * (1 - s) * beta) * (self * beta < threshold)


softplus_backward = Elementwise(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)",
    lambda xp, g, x, beta, threshold: xp.where(x * beta > threshold, g, g * sigmoid(xp, x * beta)),
    {"grad_output": ITSELF, "self": _softplus_bend},
    **_FLOATS,
)
softplus_ = Elementwise(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", _softplus, {"self": softplus_backward},
    **_FLOATS, on_arrays=by_kernel,
)  # fmt: skip
softplus = publish(softplus_, function=False, method=False)


def _log_sigmoid_bend(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    s = self.sigmoid()
    return g * grad_output * -(s * (1 - s))


def _in_rows(array: Array) -> Array:
    return array if array.flags.c_contiguous else array.copy("C")


def _log_sigmoid(xp: Namespace, x: Array) -> tuple[Any, Any]:
    """That, and what PyTorch keeps for the derivative."""
    buffer = xp.exp(-xp.absolute(x))
    return _in_rows(xp.minimum(x, 0) - xp.log1p(buffer)), buffer


log_sigmoid_backward = Elementwise(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor? buffer=None)",
    lambda xp, g, x, buffer: g * sigmoid(xp, -x),
    {"grad_output": ITSELF, "self": _log_sigmoid_bend, "buffer": None}, **_FLOATS, arranged=as_operand(0),
)  # fmt: skip
_log_sigmoid_forward = Op(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", _log_sigmoid, {"self": log_sigmoid_backward},
    differentiable=1, node="LogSigmoidBackward0", batch=LEADING,
)  # fmt: skip
publish(_log_sigmoid_forward, function=False, method=False)
log_sigmoid_ = Unary(
    "log_sigmoid", lambda xp, x: _log_sigmoid(xp, x)[0], By(log_sigmoid_backward, buffer=None),
    exact_out=True, **_FLOATS, arranged=contiguous, on_arrays=by_kernel,
    made_of=lambda self: lambda: _log_sigmoid_forward.apply(self)[0],
)  # fmt: skip
log_sigmoid = publish(log_sigmoid_, function=False, method=False)


# ---- gates


def _check_halves(self: Tensor, dim: int) -> None:
    if not self.dim():
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, self.dim())
    if self.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}")
    if self.dtype not in dt.FLOATS:
        raise not_implemented_for("glu_cpu", self.dtype)


def _glu(xp: Namespace, x: Array, axis: int) -> Any:
    value, gate = xp.split(x, 2, axis)
    return value * sigmoid(xp, gate)


def _glu_slope(xp: Namespace, g: Array, x: Array, dim: int) -> Array:
    wide = widened(g)
    value, gate = xp.split(widened(x), 2, dim)
    s = sigmoid(xp, gate)
    through = wide * s
    return xp.ascontiguousarray(xp.concatenate((through, through * value * (1 - s)), dim).astype(x.dtype, copy=False))


def _glu_slope_vjp(grads: Any, grad_output: Tensor, self: Tensor, dim: int) -> tuple[Any, ...]:
    to_value, to_gate = grads[0].chunk(2, dim)
    value, gate = self.chunk(2, dim)
    s = gate.sigmoid()
    slope = s * (1 - s)
    by_gate = grad_output * slope * (to_value + to_gate * value * (1 - 2 * s))
    return (to_value * s + to_gate * value * slope, cat.apply((grad_output * slope * to_gate, by_gate), dim))


glu_backward = Op("glu_backward(Tensor grad_output, Tensor self, int dim)", _glu_slope, _glu_slope_vjp, batch=LEADING)


def _arranged_as_product(op: Along, outputs: Any, values: Sequence[Any]) -> Any:
    """The result lies as a product of the two halves does."""
    t = values[0]
    backend = t._backend.real
    if not backend.strided:
        return outputs
    half = tuple(outputs.shape), backend.strides(t._array)
    return backend.ordered(outputs, result_strides(half[0], (half, half)))


glu_ = Along("glu(Tensor self, int dim=-1)", _glu, glu_backward, check=_check_halves, arranged=_arranged_as_product)
glu = publish(glu_, function=False, method=False)


describe(
    gelu="Each element times the area under the normal density up to it.",
    log_sigmoid="The logarithm of `sigmoid` of each element, computed stably.",
    softplus="`log(1 + exp(beta * x)) / beta` of each element: a smooth `relu`.",
    softshrink="Each element moved towards zero by `lambd`, and no further.",
    celu="`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` of each element.",
    hardshrink="Each element, but zero between `-lambd` and `lambd`.",
)
