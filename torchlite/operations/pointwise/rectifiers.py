"""Rectifiers that let something through below zero: a share that is fixed, learned or drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.declare import By, Elementwise, LaidOp, contiguous, publish, published
from ...core.machine import RANDOM, Generator, Tensor
from ...core.state import local
from ...core.values import Array, Backend, Namespace, dt, not_implemented_for
from ..gradient_kernels import by_kernel
from ..making.draws import stream_of
from ..vocabulary import zero_gradient
from .selection import where

_FLOATS: dict[str, Any] = {"dtypes": dt.FLOATS, "halves": "wide"}


# ---- a fixed share

def _laid_as_operand(op: Elementwise, outputs: Any, values: Sequence[Any]) -> Any:
    """Where gradient and operand lie in memory in different orders, it is the operand's."""
    turned = (values[1], values[0], *values[2:])
    if outputs.__class__ is tuple:
        return tuple([Elementwise.arranged(op, one, turned) for one in outputs])
    return Elementwise.arranged(op, outputs, turned)


leaky_relu_backward: Elementwise = Elementwise(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result)",
    lambda xp, g, x, slope, self_is_result: xp.where(x > 0, g, g * slope),
    {
        "grad_output": lambda g, self, negative_slope: leaky_relu_backward.apply(g, self, negative_slope, False),
        "self": zero_gradient,
    },
    arranged=_laid_as_operand, **_FLOATS,
)


def _leaky_relu(xp: Namespace, x: Array, slope: float) -> Array:
    return xp.maximum(x, x * slope) if 0 < slope <= 1 else xp.where(x > 0, x, x * slope)


def _leaky_relu_in_place_vjp(g: Tensor, result: Tensor, negative_slope: float) -> Tensor:
    if negative_slope < 0:
        raise slope_refused("leakyReLu")
    return leaky_relu_backward.apply(g, result, negative_slope, True)


def slope_refused(name: str) -> RuntimeError:
    return RuntimeError(
        f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
        "caused by calling in-place forward function with a negative slope, please call out-of-place version instead."
    )


leaky_relu_ = Elementwise(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01)",
    _leaky_relu,
    {"self": By(leaky_relu_backward, self_is_result=False)},
    **_FLOATS,
    on_arrays=by_kernel,
)
leaky_relu_in_place = Elementwise(
    "leaky_relu._(Tensor self, Scalar negative_slope=0.01)", _leaky_relu, {"self": _leaky_relu_in_place_vjp},
    node="LeakyReluBackward1", label="leaky_relu_cpu", **_FLOATS,
)  # fmt: skip
leaky_relu, leaky_relu_inplace = publish(leaky_relu_, function=False, method=False), leaky_relu_in_place.inplace(False)

# ---- a share that is learned


def _prelu_bends(grads: Any, grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Any, ...]:
    """Zero counts among the positive numbers here."""
    to_self, to_weight = [grad_output.new_zeros(self.shape) if g is None else g for g in grads]
    return (
        where(self >= 0, to_self, to_self * weight + to_weight * self),
        where(self >= 0, 0, grad_output * to_weight),
        where(self >= 0, 0, grad_output * to_self),
    )


prelu_kernel_backward = Elementwise(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor result0, Tensor result1)",
    lambda xp, g, x, weight: (xp.where(x > 0, g, g * weight), xp.where(x > 0, 0, g * x)),
    _prelu_bends, arranged=_laid_as_operand, **_FLOATS,
)  # fmt: skip
prelu_kernel = Elementwise(
    "_prelu_kernel(Tensor self, Tensor weight)",
    lambda xp, x, weight: xp.where(x > 0, x, x * weight),
    prelu_kernel_backward, label="prelu_cpu", **_FLOATS, on_arrays=by_kernel,
)  # fmt: skip


@published("prelu(Tensor self, Tensor weight)")
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """What is below zero times `weight`, one number or one for each channel (dimension 1)."""
    if self.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {self.dtype.legacy} and {weight.dtype.legacy}")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    count = weight.numel()
    if count != 1:
        if not self.dim():
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
    shape = tuple([count if d == 1 else 1 for d in range(self.dim())])
    return prelu_kernel.apply(self, weight if weight._array.shape == shape else weight.reshape(shape))


# ---- a share that is drawn


def _draw(backend: Backend, x: Array, lower: float, upper: float, generator: Generator | None) -> Any:
    """A number between `lower` and `upper` where the operand is not positive, else 1; drawn row by row."""
    low, high = [float(x.dtype.type(bound)) for bound in (lower, upper)]
    stream = stream_of(generator, backend)
    if not stream.on_host:
        drawn = stream.uniform(x.size, x.dtype, low, high).reshape(x.shape)
        return backend.xp.where(x <= 0, drawn, x.dtype.type(1))
    numbers = np.ones(x.shape, x.dtype)
    if backend.values:
        below = backend.to_host(x) <= 0
        if below.any() and high - low > dt.finfo(dt.of_numpy(x.dtype)).max:
            raise RuntimeError(f"bounds of rrelu are further apart than {x.dtype} can tell: {lower:g} and {upper:g}")
        units = stream.uniform(int(below.sum()), np.dtype(np.float64))
        numbers[below] = units * (high - low) + low
    return backend.from_host(numbers)


_noise = LaidOp("_rrelu_noise(Tensor self, Scalar lower, Scalar upper, Generator? generator)", _draw, batch=RANDOM)


def _rrelu(xp: Namespace, x: Array, noise: Any, lower: float, upper: float, training: bool) -> Any:
    return x * noise if training else _leaky_relu(xp, x, (lower + upper) / 2)


rrelu_with_noise_backward: Elementwise = Elementwise(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, "
    "bool training, bool self_is_result)",
    lambda xp, g, x, noise, lower, upper, training, self_is_result: (
        g * noise if training and upper - lower > 1e-6 else xp.where(x > 0, g, g * ((lower + upper) / 2))
    ),
    {
        "grad_output": lambda g, self, noise, lower, upper, training: (
            rrelu_with_noise_backward.apply(g, self, noise, lower, upper, training, False)
        ),
        "self": zero_gradient,
        "noise": None,
    },
    **_FLOATS,
)
_RRELU = "Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training"
_with_noise = Elementwise(
    f"rrelu_with_noise({_RRELU})", _rrelu, {"self": By(rrelu_with_noise_backward, self_is_result=False), "noise": None},
    label="leaky_relu_cpu", arranged=contiguous, **_FLOATS,
)  # fmt: skip
_with_noise_in_place = Elementwise(
    f"rrelu_with_noise._({_RRELU})", _rrelu,
    {"self": By(rrelu_with_noise_backward, {"self": "result"}, self_is_result=True), "noise": None},
    node="RreluWithNoiseBackward1", label="leaky_relu_cpu", **_FLOATS,
)  # fmt: skip


def _noise_for(self: Tensor, lower: float, upper: float, training: bool, generator: Generator | None) -> Tensor:
    if any([level.elements is not None for level in local.state.levels]):
        raise RuntimeError("vmap: we do not yet support aten::rrelu. Please file an issue")
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return self.new_zeros(())
    if self.dtype is dt.float16 or self.dtype not in dt.FLOATS:
        raise not_implemented_for("rrelu_with_noise_out_cpu", self.dtype)
    return _noise.apply(self.detach(), lower, upper, generator)


_BOUNDS = "Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False"


@published(f"rrelu({_BOUNDS}, Generator? generator=None)", method=False)
def rrelu(self: Tensor, lower: float, upper: float, training: bool, generator: Generator | None) -> Tensor:
    """What is below zero times a number drawn for it, or outside `training` the mean of those."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    noise = _noise_for(self, lower, upper, training, generator)
    return _with_noise.apply(self, noise, lower, upper, training)


@published(f"rrelu_({_BOUNDS}, Generator? generator=None)", method=False)
def rrelu_in_place(self: Tensor, lower: float, upper: float, training: bool, generator: Generator | None) -> Tensor:
    """`rrelu`, into its operand."""
    noise = _noise_for(self, lower, upper, training, generator)
    return _with_noise_in_place.apply_in_place([self, noise, lower, upper, training])
