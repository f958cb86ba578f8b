"""Normalization of channels over a batch, or over each of its elements."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, describe, publish, published
from ...core.machine import Tensor, functions, tensors_in
from ...core.machine.write import write
from ...core.state import is_watched
from ...core.values import Array, Namespace, dt, strided, wrap_dim
from ..gradient_kernels import by_kernel_of
from ..reductions.summing import CHANNELS, COLUMNS, sum_along, sum_of_products
from .group_norm import channels_last
from .layer_norm import (
    GRADIENTS,
    again,
    backward_in_steps,
    bends,
    centred,
    check_types,
    count,
    in_shape,
    moved,
    of_statistics,
    standard,
    through,
    wide,
    widely,
)


def _planes(input: Any) -> tuple[Any, tuple[int, ...]]:
    """The input with one axis for channels and others for all that is normalized together, and which these are."""
    if input.ndim <= 2:
        return input, COLUMNS
    if channels_last(input):
        return input.transpose((0, *range(2, input.ndim), 1)).reshape((-1, input.shape[1])), COLUMNS
    return input.reshape((*input.shape[:2], -1 if input.size else 0)), CHANNELS


def _back_in_place(made: Any, input: Any, axes: tuple[int, ...]) -> Any:
    """A result in the shape, dtype and order of the input."""
    made = made.astype(input.dtype, copy=False)
    if axes is CHANNELS or input.ndim <= 2:
        return made.reshape(input.shape).copy("C") if not made.flags.c_contiguous else made.reshape(input.shape)
    n, c, *rest = input.shape
    return made.reshape((n, *rest, c)).transpose((0, input.ndim - 1, *range(1, input.ndim - 1)))


def _spread(axes: tuple[int, ...], *arrays: Any) -> list[Any]:
    """Vectors of channels as they broadcast."""
    shape = (-1,) if axes is COLUMNS else (-1, 1)
    return wide(*[None if a is None else a.reshape(shape) for a in arrays])


def _batch_norm(
    xp: Namespace, input: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    planes, axes = _planes(input)
    x, scale, shift = *wide(planes), *_spread(axes, weight, bias)
    stat = of_statistics(input, weight, bias)
    if training:
        rest, left, mean, var = centred(xp, x, axes)
    else:
        mean, var = _spread(axes, running_mean, running_var)
    rstd = 1 / xp.sqrt(var + var.dtype.type(eps))
    if not training:
        saved = [xp.empty((0,), stat), xp.empty((0,), stat)]
    else:
        saved = [a.reshape(-1).astype(stat, copy=False) for a in (mean, rstd)]
        if stat.itemsize == 2:  # what is kept is also what the result is made with
            mean, rstd = _spread(axes, *saved)
            rest, left = x - mean, 0
        _update(running_mean, saved[0], momentum)
        n = count(x, axes)
        _update(running_var, var.reshape(-1) * (n / (n - 1) if n > 1 else math.nan), momentum)
    factor = rstd if scale is None else rstd * scale
    if training:
        result = xp.multiply(rest, factor, rest)
        result += -left * factor if shift is None else shift - left * factor
    else:
        result = x * factor
        result += -mean * factor if shift is None else shift - mean * factor
    return _back_in_place(result, input, axes), *saved


def _update(running: Any, now: Any, momentum: float) -> None:
    if running is not None:
        running[...] = running * (1 - momentum) + now * momentum


def _batch_norm_backward(
    xp: Namespace, g: Array, input: Array, weight: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any,
    train: bool, eps: float, mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    planes, axes = _planes(input)
    if axes is COLUMNS and input.ndim > 2:
        g = g.transpose((0, *range(2, input.ndim), 1))
    x, of_result = wide(planes, g.reshape(planes.shape))
    if not train:
        mean, rstd = running_mean, 1 / xp.sqrt(wide(running_var)[0] + eps)
    mean, rstd, scale = _spread(axes, mean, rstd.astype(x.dtype, copy=False), weight)
    through_statistics = train and mask[0]
    to_x: Any = None
    to_weight: Any = None
    to_bias: Any = None
    if through_statistics or mask[1]:
        hat = x - mean
        hat *= rstd
        to_weight = sum_of_products(xp, of_result, hat, axes)
    if through_statistics or mask[2]:
        to_bias = sum_along(xp, of_result, axes)
    if mask[0]:
        factor = rstd if scale is None else rstd * scale
        if train:
            to_x = through(of_result, hat, factor, to_weight, to_bias, count(x, axes) or 1)
        else:
            to_x = of_result * factor
        to_x = _back_in_place(to_x, input, axes)
    of_parameters = input.dtype if weight is None else weight.dtype
    return to_x, *[
        a.reshape(-1).astype(of_parameters, copy=False) if wanted else None
        for a, wanted in zip((to_weight, to_bias), mask[1:])
    ]


# ---- the same on tensors


def _layout(input: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that are normalized together, and the shape in which vectors of channels broadcast."""
    ndim = input.dim()
    return (0, *range(2, ndim)), (input.shape[1], *[1] * (ndim - 2))


def _by_running(input: Tensor, running_mean: Tensor, running_var: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """What is normalized by statistics that are given, and one over the deviation."""
    shape = _layout(input)[1]
    rstd = (running_var.reshape(shape) + eps).rsqrt()
    return (input - running_mean.reshape(shape)) * rstd, rstd


def _batch_bends(
    grads: Any, grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Any,
    running_var: Any, save_invstd: Any, train: bool, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    dims, shape = _layout(input)
    if train:
        hat, rstd = again(input, save_invstd.reshape(shape), dims)
    else:
        hat, rstd = _by_running(input, running_mean, running_var, eps)
    v, of_weight, of_bias = grads
    of_all = v, in_shape(of_weight, shape), in_shape(of_bias, shape)
    made = bends(of_all, grad_out, hat, rstd, in_shape(weight, shape), dims if train else None)
    return made[0], made[1], in_shape(made[2], (-1,)), None, None, None, None


def _backward_step_by_step(
    grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Any, running_var: Any,
    save_mean: Any, save_invstd: Any, train: bool, eps: float, output_mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    dims, shape = _layout(input)
    if train:
        rstd = save_invstd.reshape(shape)
        hat = (input - save_mean.reshape(shape)) * rstd
    else:
        hat, rstd = _by_running(input, running_mean, running_var, eps)
    made = backward_in_steps(grad_out, hat, rstd, in_shape(weight, shape), dims if train else None, shape)
    return made[0], made[1].reshape((-1,)), made[2].reshape((-1,))


native_batch_norm_backward = Op(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
    f"running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, any output_mask) {GRADIENTS}",
    _batch_norm_backward, _batch_bends, batch=widely(_backward_step_by_step),
    seen_as=lambda *values: ("native_batch_norm_backward", (*values[:-1], values[-1][:3])),
)  # fmt: skip


def _check_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> None:  # fmt: skip
    channels = input.shape[1] if input.dim() > 1 else 0
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, t in given.items():
        if t is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif t.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")
        elif name.startswith("running") and t.dim() != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {t.dim()}")
    if input.dim() < 2:
        wrap_dim(1, input.dim())  # there are no channels
    check_types("batch_norm", input, weight, bias)


def _batch_norm_in_steps(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any,
    training: bool, momentum: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    dims, shape = _layout(input)
    if not training:
        hat, _ = _by_running(input, running_mean, running_var, eps)
        none = input.new_empty((0,))
        return moved(hat, in_shape(weight, shape), in_shape(bias, shape)), none, none
    level = input._backend.level
    if any([t._backend.level < level for v in (running_mean, running_var) for t in tensors_in(v)]):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using a module and do not need eval mode, please set "
            "`track_running_stats` to be False.If you are using a prebuilt module and do not need eval mode, please "
            "see the functorch website for resources on how to patch your module to work with vmap"
        )
    hat, mean, rstd = standard(input, dims, eps)
    mean, rstd = mean.reshape((-1,)), rstd.reshape((-1,))
    for running, now in ((running_mean, mean), (running_var, input.var(dims))):
        if running is not None:
            running.mul_(1 - momentum).add_(now.detach() * momentum)
    return moved(hat, in_shape(weight, shape), in_shape(bias, shape)), mean, rstd


_RUNNING = "running_mean", "running_var"
native_batch_norm = Op(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    f"bool training, float momentum, float eps) {GRADIENTS}",
    _batch_norm,
    lambda grads, needs, input, weight, running_mean, running_var, result1, result2, training, eps: (
        *native_batch_norm_backward.apply(
            grads[0], input, weight, running_mean, running_var, result1, result2, training, eps, needs
        ),
        None,
        None,
    ),
    check=_check_batch_norm, batch=_batch_norm_in_steps, constant=_RUNNING, non_differentiable=_RUNNING,
    differentiable=1, updates=True,
    on_arrays=by_kernel_of(native_batch_norm_backward, several=True, renamed={
        "save_mean": "result1", "save_invstd": "result2", "train": "training", "output_mask": "needs",
    }),
)  # fmt: skip
publish(native_batch_norm, method=False)
_PARAMETERS = "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var"


@published(
    f"batch_norm({_PARAMETERS}, bool training, float momentum, float eps, bool cudnn_enabled)", method=False,
    by_form=False,
)  # fmt: skip
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Each channel normalized over the batch in `training`, and else by the running statistics."""
    if not input.numel():
        return moved(input.clone(), None if weight is None else weight[0], None if bias is None else bias[0])
    if is_watched() or input._backend.layout is not strided:  # PyTorch has memory for what other libraries keep
        functions["empty"]((0,), dtype=dt.uint8, layout=input.layout, device=input.device)
    return native_batch_norm.apply(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@published(
    f"instance_norm({_PARAMETERS}, bool use_input_stats, float momentum, float eps, bool cudnn_enabled)", method=False
)
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Each channel of each element normalized by itself, or else by the running statistics."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, c, *rest = input.shape
    each: list[Any] = [None if t is None else t.repeat((n,)) for t in (weight, bias, running_mean, running_var)]
    made = batch_norm(input.contiguous().view((1, n * c, *rest)), *each, use_input_stats, momentum, eps)  # type: ignore[call-arg]
    for running, now in ((running_mean, each[2]), (running_var, each[3])):
        if running is not None and use_input_stats:
            mean = now.view((n, c)).mean(0, False)
            while mean._backend.home.level > running._backend.home.level:
                mean = mean._array.main
            if running._backend.handed:
                running.copy_(mean)
            else:  # statistics may be updated inside of a transform, too
                write(running, mean)
    return made.view(input.shape)


describe(native_batch_norm="Batch normalization: the result, and the mean and inverse deviation that it used.")
