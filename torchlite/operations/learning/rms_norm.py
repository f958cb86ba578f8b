"""Normalization by the root of the mean square: on CUDA one kernel, as in PyTorch; elsewhere a few operations."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, published, sum_to
from ...core.machine import Tensor
from ...core.state import local
from ...core.values import Array, Namespace, dt, not_implemented_for
from ...kernels.summing import add_reduce
from .layer_norm import check_layer, wide, widely


def _last(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that are normalized."""
    return tuple(range(array.ndim - len(shape), array.ndim))


def _rms_norm(xp: Namespace, input: Array, shape: tuple[int, ...], weight: Any, eps: float) -> tuple[Any, ...]:
    x, scale = wide(input, weight)
    rstd = 1 / xp.sqrt(add_reduce(xp, x * x, _last(x, shape), True) / (math.prod(shape) or 1) + x.dtype.type(eps))
    made = x * rstd
    return (made if scale is None else made * scale).astype(input.dtype, copy=False), rstd


def _rms_norm_backward(
    xp: Namespace, g: Array, input: Array, shape: tuple[int, ...], rstd: Array, weight: Any, mask: Any
) -> tuple[Any, ...]:
    given, x, scale = wide(g, input, weight)
    axes, hat = _last(x, shape), x * rstd
    through = given if scale is None else given * scale
    to_x = rstd * (through - hat * (add_reduce(xp, through * hat, axes, True) / (math.prod(shape) or 1)))
    to_weight = add_reduce(xp, given * hat, tuple(range(x.ndim - len(shape))), False) if mask[1] else None
    return to_x.astype(input.dtype, copy=False), None if to_weight is None else to_weight.astype(weight.dtype)


def _in_steps(input: Tensor, shape: tuple[int, ...], weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    scale = (input**2).mean(tuple(range(-len(shape), 0)), True).add_(eps).rsqrt()
    made = input * scale
    return made if weight is None else made * weight, scale


def _backward_in_steps(g: Tensor, input: Tensor, shape: tuple[int, ...], weight: Tensor | None, eps: float) -> Any:
    """The gradients as functions of all that they depend on."""
    dims = tuple(range(-len(shape), 0))
    hat, rstd = _in_steps(input, shape, None, eps)
    through = g if weight is None else g * weight
    to_weight = None if weight is None else sum_to(g * hat, weight.shape)
    return rstd * (through - hat * (through * hat).mean(dims, True)), to_weight


def _gradients(
    grads: Any, needs: Any, input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float,
    result1: Tensor,
) -> Any:  # fmt: skip
    if local.state.mode.grad or input._backend.home.level:
        return _backward_in_steps(grads[0], input, normalized_shape, weight, eps)
    return _fused_backward.apply(grads[0], input, normalized_shape, result1, weight, needs)


_fused_backward = Op(
    "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, "
    "any output_mask) -> (Tensor result0, Tensor result1)",
    _rms_norm_backward,
)
_fused = Op(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> "
    "(Tensor result0, Tensor result1)",
    _rms_norm, _gradients, batch=widely(_in_steps), differentiable=1, node="FusedRmsNormBackward0",
)  # fmt: skip


def _check(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None) -> None:
    check_layer(input, normalized_shape, weight, None, "*")
    if input.dtype.category < dt.FLOAT or input.dtype is dt.complex32:
        raise not_implemented_for("rms_norm", input.dtype)


@published("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", method=False)
def rms_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, eps: float | None) -> Tensor:
    """The input over the root of its mean square along the last dimensions, times a weight."""
    _check(input, normalized_shape, weight)
    wide = dt.float32 if input.dtype in dt.HALVES else input.dtype
    if eps is None:
        eps = dt.finfo(wide.to_real()).eps
    if input.is_cuda and input.dtype in dt.FLOATS and (weight is None or weight.dtype is input.dtype):
        return _fused.apply(input.contiguous(), normalized_shape, weight, eps)[0]
    x = input if input.dtype is wide else input.to(wide)
    dims = tuple(range(x.dim() - len(normalized_shape), x.dim()))
    made = x * (x**2).mean(dims, True).add_(eps).rsqrt()
    if weight is not None:
        made = made * weight
    return (made if made.dtype is input.dtype else made.to(input.dtype)).contiguous()
