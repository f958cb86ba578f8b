"""Normalization: values less their mean, over their deviation, by layer, group of channels or batch.

All come down to arrays in which the values to be normalized together lie along some axes, and share one scheme:
`hat = (x - mean) * rstd`, and the gradient through it, `rstd * (g - mean(g) - hat * mean(g * hat))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Op, describe, publish, published, sum_to
from ...core.machine import Tensor
from ...core.state import local
from ...core.values import Array, Namespace, dt, not_implemented_for
from ...kernels.summing import add_reduce, widened
from ..gradient_kernels import by_kernel_of
from ..reductions.summing import COLUMNS, sum_along, sum_of_products

# ---- on arrays


def count(x: Any, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[a] for a in axes])


def centred(xp: Namespace, x: Array, axes: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
    """The array less its mean, but for what that was rounded by, which follows; the mean and the variance."""
    n = x.dtype.type(count(x, axes) or math.nan)
    mean = sum_along(xp, x, axes) / n
    rest = x - mean
    left = sum_along(xp, rest, axes) / n
    left = xp.where(xp.isfinite(left * left), left, 0)
    return rest, left, mean + left, xp.maximum(sum_of_products(xp, rest, rest, axes) / n - left * left, 0)


def _normalize(xp: Namespace, x: Array, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """The normalized array, mean and one over the deviation."""
    hat, left, mean, var = centred(xp, x, axes)
    rstd = 1 / xp.sqrt(var + x.dtype.type(eps))
    hat -= left
    hat *= rstd
    return hat, mean, rstd


def _affine(hat: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        hat *= weight
    if bias is not None:
        hat += bias
    return hat


def through(g: Any, hat: Any, factor: Any, along: Any, total: Any, n: int) -> Any:
    """The gradient of what was normalized, n numbers at a time, with the sums of `g * hat` and of `g`.

    `factor` is what the normalized was multiplied by, over the deviation.
    """
    made = hat * (along / -g.dtype.type(n))
    made += g
    made -= total / g.dtype.type(n)
    made *= factor
    return made


# ---- on tensors: the same in steps, for batches and for derivatives of gradients


def standard(x: Tensor, dims: tuple[int, ...], eps: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The normalized tensor, mean, and one over the deviation."""
    mean = x.mean(dims, True)
    centred = x - mean
    rstd = ((centred * centred).mean(dims, True) + eps).rsqrt()
    return centred * rstd, mean, rstd


def again(x: Tensor, rstd: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The same from what was saved, but as functions of `x`."""
    eps = (rstd.detach() ** -2) - x.detach().var(dims, correction=0, keepdim=True)
    hat, _, rstd = standard(x, dims, eps)
    return hat, rstd


def _projected(u: Tensor, hat: Tensor, dims: tuple[int, ...] | None) -> Tensor:
    """`u` without its mean and its part along `hat`; as it is where mean and deviation are constants (no `dims`)."""
    return u if dims is None else u - u.mean(dims, True) - hat * (u * hat).mean(dims, True)


def backward_in_steps(
    g: Tensor, hat: Tensor, rstd: Tensor, weight: Tensor | None, dims: tuple[int, ...] | None, shape: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of what was normalized, of the weight and the bias, which broadcast from `shape`."""
    scaled = g if weight is None else g * weight
    return rstd * _projected(scaled, hat, dims), sum_to(g * hat, shape), sum_to(g, shape)


def bends(
    grads: Sequence[Tensor | None], g: Tensor, hat: Tensor, rstd: Tensor, weight: Tensor | None,
    dims: tuple[int, ...] | None,
) -> tuple[Tensor, Tensor, Tensor | None]:  # fmt: skip
    """What comes back through `backward_in_steps`, for the gradient, for what was normalized and the weight."""
    v, of_weight, of_bias = grads
    to_g = to_x = g.new_zeros(())
    to_weight = None
    scaled = g if weight is None else g * weight
    if v is not None:
        along = rstd * _projected(v, hat, dims)
        to_g = along if weight is None else along * weight
        to_weight = None if weight is None else sum_to(g * along, weight.shape)
        if dims is not None:
            a, b = (v * hat).mean(dims, True), (scaled * hat).mean(dims, True)
            both = (v * scaled).mean(dims, True) - v.mean(dims, True) * scaled.mean(dims, True) - a * b
            to_x = -(rstd * rstd) * (both * hat + _projected(b * v + a * scaled, hat, dims))
    if of_weight is not None:
        to_g = to_g + of_weight * hat
        to_x = to_x + rstd * _projected(g * of_weight, hat, dims)
    if of_bias is not None:
        to_g = to_g + of_bias
    return to_g.expand(g.shape), to_x.expand(g.shape), to_weight


def widely(steps: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """The same steps, with halves computed in float32."""

    def call(first: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        if first.dtype not in dt.HALVES:
            return steps(first, *rest)
        made = steps(*[v.float() if isinstance(v, Tensor) else v for v in (first, *rest)])
        return tuple([t.to(first.dtype) for t in made])

    return call


def in_shape(t: Tensor | None, shape: Any) -> Tensor | None:
    return None if t is None else t.reshape(shape)


# ---- what the ops share


def check_types(label: str, input: Tensor, *parameters: Tensor | None) -> None:
    """Parameters are of the input's dtype, or all float32 beside a half."""
    if input.dtype not in dt.FLOATS:
        raise not_implemented_for(label, input.dtype)
    given = {p.dtype for p in parameters if p is not None}
    if given <= {input.dtype} or (given == {dt.float32} and input.dtype in dt.HALVES):
        return
    alike = dt.float32 in given
    wanted = "all inputs must share same datatype." if alike else "expect parameter to have scalar type of Float"
    raise RuntimeError(f"mixed dtype (CPU): {wanted}")


def of_statistics(input: Any, *parameters: Any) -> Any:
    """The dtype of mean and deviation: that of the parameters, which may be wider than the input's."""
    return next((p.dtype for p in parameters if p is not None), input.dtype)


def wide(*arrays: Any) -> list[Any]:
    return [None if a is None else widened(a) for a in arrays]


GRADIENTS = "-> (Tensor result0, Tensor result1, Tensor result2)"


# ---- by layer: along the last dimensions


def check_layer(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, star: str = "*, "
) -> None:
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t._array.shape)} and normalized_shape = {list(shape)}"
            )
    have = input._array.shape
    if have[-len(shape) :] != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{sizes}], but got input of "
            f"size{list(have)}"
        )


def _layer_norm(xp: Namespace, input: Array, shape: tuple[int, ...], weight: Any, bias: Any, eps: float) -> Any:
    d, last, whole = input.dtype, len(shape), input.shape
    if last > 1:
        input, weight, bias = input.reshape((*whole[:-last], math.prod(shape))), *_flat(weight, bias)
    if d.itemsize == 2:
        stat = of_statistics(input, weight, bias)
        input, weight, bias = wide(input, weight, bias)
    n = input.shape[-1] or math.nan
    mean = add_reduce(xp, input, -1, True)
    mean /= n
    hat = input - mean if input.flags.c_contiguous else xp.subtract(input, mean, xp.empty(input.shape, input.dtype))
    rstd = add_reduce(xp, hat * hat, -1, True)
    rstd /= n
    rstd += eps
    xp.sqrt(rstd, rstd)
    xp.reciprocal(rstd, rstd)
    hat *= rstd
    result = _affine(hat, weight, bias)
    if d.itemsize == 2:
        result, mean, rstd = result.astype(d), mean.astype(stat, copy=False), rstd.astype(stat, copy=False)
    if last > 1:
        kept = (*whole[:-last], *[1] * last)
        return result.reshape(whole), mean.reshape(kept), rstd.reshape(kept)
    return result, mean, rstd


def _flat(*arrays: Any) -> list[Any]:
    return [None if a is None else a.reshape(-1) for a in arrays]


def _layer_norm_backward(
    xp: Namespace, g: Array, input: Array, shape: tuple[int, ...], mean: Any, rstd: Any, weight: Any, bias: Any,
    mask: Any,
) -> tuple[Any, ...]:  # fmt: skip
    d, size, whole = input.dtype, math.prod(shape), input.shape
    x, scale = input, weight
    if input.ndim != 2 or len(shape) != 1:
        rows = mean.size, size
        g, x, mean, rstd = g.reshape(rows), x.reshape(rows), mean.reshape((-1, 1)), rstd.reshape((-1, 1))
        scale = _flat(scale)[0]
    if d.itemsize == 2:
        g, x, mean, rstd, scale = wide(g, x, mean, rstd, scale)
    hat = x - mean
    hat -= xp.matmul(hat, xp.full((size, 1), 1 / max(size, 1), hat.dtype))  # what the mean was rounded by
    hat *= rstd
    to_x = to_weight = to_bias = None
    if mask[0]:
        to_x = _through_rows(xp, g if scale is None else g * scale, hat, rstd).astype(d, copy=False)
        to_x = to_x if to_x.shape == whole else to_x.reshape(whole)
    if mask[1]:
        to_weight = sum_of_products(xp, g, hat, COLUMNS).astype(weight.dtype, copy=False)
        to_weight = to_weight if len(shape) == 1 else to_weight.reshape(shape)
    if mask[2]:
        to_bias = sum_along(xp, g, COLUMNS).astype(bias.dtype, copy=False)
        to_bias = to_bias if len(shape) == 1 else to_bias.reshape(shape)
    return to_x, to_weight, to_bias


def _through_rows(xp: Namespace, g: Array, hat: Array, rstd: Any) -> Any:
    """The gradient of what was normalized, where that is each row."""
    n = g.shape[-1] or 1
    along = add_reduce(xp, g * hat, -1, True)
    along /= -n
    made = hat * along
    made += g
    mean = add_reduce(xp, g, -1, True)
    mean /= n
    made -= mean
    made *= rstd
    return made


def _last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that are normalized."""
    return tuple(range(-len(shape), 0))


def _layer_bends(
    grads: Any, grad_out: Tensor, input: Tensor, normalized_shape: tuple[int, ...], rstd: Tensor, weight: Tensor | None
) -> tuple[Any, ...]:
    dims = _last(normalized_shape)
    to_g, to_x, to_weight = bends(grads, grad_out, *again(input, rstd, dims), weight, dims)
    return to_g, to_x, None, None, to_weight, None


def _layer_backward_in_steps(
    grad_out: Tensor, input: Tensor, shape: tuple[int, ...], mean: Tensor, rstd: Tensor, weight: Tensor | None, *_: Any
) -> Any:
    return backward_in_steps(grad_out, (input - mean) * rstd, rstd, weight, _last(shape), shape)


native_layer_norm_backward = Op(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, "
    f"Tensor? weight, Tensor? bias, any output_mask) {GRADIENTS}",
    _layer_norm_backward, _layer_bends, batch=widely(_layer_backward_in_steps),
)  # fmt: skip


def _check_layer_norm(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float
) -> None:
    check_layer(input, normalized_shape, weight, bias)
    check_types("LayerNormKernelImpl", input, weight, bias)


def _layer_norm_in_steps(
    input: Tensor, shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Any, ...]:
    hat, mean, rstd = standard(input, _last(shape), eps)
    return moved(hat, weight, bias), mean, rstd


def moved(hat: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    hat = hat if weight is None else hat * weight
    return hat if bias is None else hat + bias


native_layer_norm = Op(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) " + GRADIENTS,
    _layer_norm,
    lambda grads, needs, input, normalized_shape, result1, result2, weight, bias: native_layer_norm_backward.apply(
        grads[0], input, normalized_shape, result1, result2, weight, bias, needs
    ),
    check_form=_check_layer_norm, batch=widely(_layer_norm_in_steps), differentiable=1,
    on_arrays=by_kernel_of(native_layer_norm_backward, several=True, renamed={
        "mean": "result1", "rstd": "result2", "output_mask": "needs",
    }),
)  # fmt: skip
publish(native_layer_norm, method=False)


@published(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enable=True)", method=False, comes_to=lambda *values: (native_layer_norm, values[:5], 0)
)
def layer_norm(
    input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None, eps: float,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """The input normalized along its last dimensions, times a weight, plus a bias."""
    return native_layer_norm.apply(input, normalized_shape, weight, bias, eps)[0]


# ---- by the root of the mean square: on CUDA one kernel, as in PyTorch; elsewhere a few operations


def _rms_norm(xp: Namespace, input: Array, shape: tuple[int, ...], weight: Any, eps: float) -> tuple[Any, ...]:
    x, scale = wide(input, weight)
    rstd = 1 / xp.sqrt(add_reduce(xp, x * x, _last(shape), True) / (math.prod(shape) or 1) + x.dtype.type(eps))
    made = x * rstd
    return (made if scale is None else made * scale).astype(input.dtype, copy=False), rstd


def _rms_norm_backward(
    xp: Namespace, g: Array, input: Array, shape: tuple[int, ...], rstd: Array, weight: Any, mask: Any
) -> tuple[Any, ...]:
    given, x, scale = wide(g, input, weight)
    axes, hat = _last(shape), x * rstd
    through = given if scale is None else given * scale
    to_x = rstd * (through - hat * (add_reduce(xp, through * hat, axes, True) / (math.prod(shape) or 1)))
    to_weight = add_reduce(xp, given * hat, tuple(range(x.ndim - len(shape))), False) if mask[1] else None
    return to_x.astype(input.dtype, copy=False), None if to_weight is None else to_weight.astype(weight.dtype)


def _in_steps(input: Tensor, shape: tuple[int, ...], weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    scale = (input**2).mean(_last(shape), True).add_(eps).rsqrt()
    made = input * scale
    return made if weight is None else made * weight, scale


def _backward_in_steps(g: Tensor, input: Tensor, shape: tuple[int, ...], weight: Tensor | None, eps: float) -> Any:
    """The gradients as functions of all that they depend on."""
    dims = _last(shape)
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


describe(native_layer_norm="Layer normalization: the result, and the mean and inverse deviation of each row.")
