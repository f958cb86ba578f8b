"""Normalization by group of channels."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, describe, publish, published
from ...core.machine import Tensor
from ...core.values import Array, Namespace
from ..reductions.summing import CHANNELS, ROWS, sum_along, sum_of_products
from .layer_norm import (
    GRADIENTS,
    _affine,
    _normalize,
    _through_rows,
    again,
    backward_in_steps,
    bends,
    check_types,
    in_shape,
    moved,
    of_statistics,
    standard,
    wide,
    widely,
)


def check_group(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None) -> None:
    shape = list(input.shape)
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0:
        raise (
            ZeroDivisionError("integer division or modulo by zero") if num_groups == 0
            else RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
        )  # fmt: skip
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{shape} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list((weight if weight is not None else t).shape)} and input of shape {shape}"
            )


def channels_last(array: Array) -> bool:
    """Whether channels are innermost in memory."""
    return (
        array.ndim in (4, 5) and not array.flags.c_contiguous
        and array.transpose((0, *range(2, array.ndim), 1)).flags.c_contiguous
    )  # fmt: skip


def _laid_like(xp: Namespace, made: Array, like: Array) -> Any:
    """A result with its channels innermost, where those of the input are; else it lies row by row."""
    if not channels_last(like):
        return xp.asarray(made, order="C")  # which leaves a lone element one
    n, c, *rest = like.shape
    result = xp.empty((n, *rest, c), made.dtype).transpose((0, made.ndim - 1, *range(1, made.ndim - 1)))
    result[...] = made
    return result


def _group_norm(
    xp: Namespace, input: Array, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, ...]:  # fmt: skip
    d, stat = input.dtype, of_statistics(input, weight, bias)
    rows, weight, bias = wide(input.reshape((N * group, C // group * HxW)), *_of_channels(weight, bias))
    hat, mean, rstd = _normalize(xp, rows, ROWS, eps)
    result = _affine(hat.reshape((N, C, HxW)), weight, bias).astype(d, copy=False).reshape(input.shape)
    result = _laid_like(xp, result, input)
    return result, *[a.astype(stat, copy=False).reshape((N, group)) for a in (mean, rstd)]


def _of_channels(*arrays: Any) -> list[Any]:
    return [None if a is None else a.reshape((-1, 1)) for a in arrays]


def _group_norm_backward(
    xp: Namespace, g: Array, input: Array, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int,
    mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    d, rows, planes = input.dtype, (N * group, C // group * HxW), (N, C, HxW)
    g, x, mean, rstd, scale = wide(
        g.reshape(planes), input.reshape(rows), mean.reshape((-1, 1)), rstd.reshape((-1, 1)), *_of_channels(weight)
    )
    hat = (x - mean) * rstd
    scaled = (g if scale is None else g * scale).reshape(rows)
    to_x = _through_rows(xp, scaled, hat, rstd).astype(d, copy=False).reshape(input.shape) if mask[0] else None
    of_parameters = d if weight is None else weight.dtype
    to_weight = sum_of_products(xp, g, hat.reshape(planes), CHANNELS).reshape(-1) if mask[1] else None
    to_bias = sum_along(xp, g, CHANNELS).reshape(-1) if mask[2] else None
    return (
        None if to_x is None else _laid_like(xp, to_x, input),
        *[None if a is None else a.astype(of_parameters, copy=False) for a in (to_weight, to_bias)],
    )


_GROUP_DIMS = (2, 3)


def _group_bends(
    grads: Any, grad_out: Tensor, input: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int, HxW: int,
    group: int,
) -> tuple[Any, ...]:  # fmt: skip
    form, of_channels = (N, group, C // group, HxW), (group, C // group, 1)
    v, of_weight, of_bias = grads
    grads = in_shape(v, form), in_shape(of_weight, of_channels), in_shape(of_bias, of_channels)
    hat, rstd = again(input.reshape(form), rstd.reshape((N, group, 1, 1)), _GROUP_DIMS)
    made = bends(grads, grad_out.reshape(form), hat, rstd, in_shape(weight, of_channels), _GROUP_DIMS)
    to_g, to_x = made[0].reshape(input.shape), made[1].reshape(input.shape)
    return to_g, to_x, None, None, in_shape(made[2], (C,))


def _group_backward_in_steps(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int, HxW: int,
    group: int, output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    form, of_channels, stat = (N, group, C // group, HxW), (group, C // group, 1), (N, group, 1, 1)
    rstd = rstd.reshape(stat)
    hat = (input.reshape(form) - mean.reshape(stat)) * rstd
    made = backward_in_steps(grad_out.reshape(form), hat, rstd, in_shape(weight, of_channels), _GROUP_DIMS, of_channels)
    return made[0].reshape(input.shape), made[1].reshape((C,)), made[2].reshape((C,))


native_group_norm_backward = Op(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, "
    f"int HxW, int group, any output_mask) {GRADIENTS}",
    _group_norm_backward, _group_bends, batch=widely(_group_backward_in_steps),
)  # fmt: skip


def _group_norm_in_steps(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, ...]:  # fmt: skip
    of_channels = (group, C // group, 1)
    hat, mean, rstd = standard(input.reshape((N, group, C // group, HxW)), _GROUP_DIMS, eps)
    made = moved(hat, in_shape(weight, of_channels), in_shape(bias, of_channels))
    return made.reshape(input.shape), mean.reshape((N, group)), rstd.reshape((N, group))


def _group_gradients(
    grads: Any, needs: Any, input: Tensor, weight: Tensor | None, result1: Tensor, result2: Tensor, N: int, C: int,
    HxW: int, group: int,
) -> Any:  # fmt: skip
    made = (None, None, None)
    if grads[0] is not None:
        g = grads[0] if channels_last(input._array) else grads[0].contiguous()
        made = native_group_norm_backward.apply(g, input, result1, result2, weight, N, C, HxW, group, needs)
    if grads[1] is None and grads[2] is None:
        return made
    of_statistics = _through_statistics(input, *grads[1:], result1, result2, C * HxW // group) if needs[0] else None  # type: ignore[call-arg]
    return of_statistics if made[0] is None else made[0] + of_statistics, *made[1:]


def _through_statistics(input: Tensor, of_mean: Any, of_rstd: Any, mean: Tensor, rstd: Tensor, n: int) -> Tensor:
    """The gradient through mean and deviation of n elements; PyTorch passes over each where the other has none."""
    rows = input.reshape((*mean.shape, n))
    n = n or 1
    made = rows.new_zeros(()) if of_mean is None else (of_mean / n).unsqueeze(-1)
    if of_rstd is not None:
        made = made - (rows - mean.unsqueeze(-1)) * (of_rstd * rstd**3 / n).unsqueeze(-1)
    return made.expand(rows.shape).reshape(input.shape).to(input.dtype)


def _check_native(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> None:
    check_types("GroupNormKernelImpl", input, weight, bias)
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != (C,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(t.shape)} and input of shape {list(input.shape)}"
            )
    if input.numel() != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.")


native_group_norm = Op(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) "
    + GRADIENTS,
    _group_norm, _group_gradients,
    check_form=_check_native,
    batch=widely(_group_norm_in_steps),
)  # fmt: skip
publish(native_group_norm, method=False)


@published(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enabled=True)", method=False
)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float, cudnn_enabled: bool = True
) -> Tensor:  # fmt: skip
    """The input normalized over the channels of each group and all that lies in them."""
    check_group(input, num_groups, weight, bias)
    if not channels_last(input._array):
        input = input.contiguous()
    n, c, *rest = input.shape
    return native_group_norm.apply(input, weight, bias, n, c, math.prod(rest), num_groups, eps)[0]


describe(native_group_norm="Group normalization: the result, and the mean and inverse deviation of each group.")
