"""Numbers as they would be after being quantized, with gradients; and what observes which scale they need."""

from __future__ import annotations

import math
from typing import Any

from ..core.declare import Composite, Op, describe, publish, published
from ..core.machine import Tensor
from ..core.values import Array, Namespace, dt, not_implemented_for
from ..operations.formulas import tensors
from .qparams import chosen


def _kept(xp: Namespace, x: Array, scale: Any, zero_point: Any, low: int, high: int) -> tuple[Any, ...]:
    """Numbers rounded to what integers within limits stand for, and where they are within."""
    steps = xp.rint(x * (x.dtype.type(1) / scale)) + zero_point
    return (xp.clip(steps, low, high) - zero_point) * scale, (steps >= low) & (steps <= high)


def _of_tensor(xp: Namespace, x: Array, scale: Any, zero_point: Any, low: int, high: int) -> tuple[Any, ...]:
    scale = x.dtype.type(scale) if isinstance(scale, float) else scale
    made, mask = _kept(xp, x, scale, zero_point, low, high)
    return made.astype(x.dtype, copy=False), mask


def _of_channels(xp: Namespace, x: Array, scale: Array, zero_point: Array, axis: int, low: int, high: int) -> Any:
    shape = [-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]
    return _of_tensor(xp, x, scale.reshape(shape), zero_point.reshape(shape), low, high)


def _check_floats(self: Tensor, kernel: str) -> None:
    if self.dtype not in dt.FLOATS:
        raise not_implemented_for(f"fake_quantize_{kernel}_type_handling", self.dtype)


def _check_limits(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _check_tensor(self: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> None:
    _check_limits(low, high)
    if not isinstance(zero_point, Tensor) and not low <= zero_point <= high:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    _check_floats(self, "tensor_cachemask_kernel")


def _check_channels(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int) -> None:
    if scale.dtype is not dt.float32:
        raise RuntimeError(f"Scale must be Float, found {scale.dtype.legacy}")
    if zero_point.dtype not in (dt.int32, dt.float32, dt.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy}")
    if scale.dim() != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if not -self.dim() <= axis < self.dim():
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.numel() != self.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_limits(low, high)
    if bool((zero_point < low).any()) or bool((zero_point > high).any()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    _check_floats(self, "channel_cachemask_cpu")


_LIMITS = "int quant_min, int quant_max"
_MADE = "(Tensor output, Tensor mask)"
_of_tensor_masked = Op(
    f"fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, {_LIMITS}) -> {_MADE}",
    _of_tensor, {"self": lambda g, mask: g * mask}, check=_check_tensor,
    node="FakeQuantizePerTensorAffineCachemaskBackward0",
)  # fmt: skip
_of_channels_masked = Op(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, "
    f"{_LIMITS}) -> {_MADE}",
    _of_channels, {"self": lambda g, mask: g * mask, "scale": None, "zero_point": None}, check=_check_channels,
    node="FakeQuantizePerChannelAffineCachemaskBackward0",
)  # fmt: skip


def _by_tensors(self: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    return _of_tensor_masked.apply(self, scale.item(), int(zero_point.item()), low, high)[0]


publish(
    Composite(
        f"fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, {_LIMITS})",
        lambda *values: _of_tensor_masked.apply(*values)[0],
    ),
    Composite(
        f"fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, {_LIMITS})",
        _by_tensors,
    ),
    method=False,
)


@published(
    f"fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, {_LIMITS})", method=False
)
def fake_quantize_per_channel_affine(self: Tensor, *rest: Any) -> Tensor:
    """What the tensor would be after being quantized, with a scale and a zero point for each place along `axis`."""
    return _of_channels_masked.apply(self, *rest)[0]


# ---- observers


def _observe(t: Tensor, running_min: Tensor, running_max: Tensor, part: float, dims: list[int]) -> None:
    """Bring the running extremes nearer to those of a tensor."""
    for running, now in ((running_min, t.amin(dims)), (running_max, t.amax(dims))):
        now = now.reshape(running.shape)
        running.copy_(tensors.where(running.isinf(), now, running + part * (now - running)))


@published(
    "fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, "
    "Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, "
    "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False)",
    method=False,
)
def _fused_moving_avg_obs_fake_quant(
    self: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor,
    zero_point: Tensor, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int,
    per_row_fake_quant: bool, symmetric_quant: bool,
) -> Tensor:  # fmt: skip
    """What a tensor would be after being quantized with the scale that the extremes seen so far need."""
    if ch_axis >= self.dim():
        raise RuntimeError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    if observer_on.item():
        rows = self.shape[ch_axis] if per_row_fake_quant else 1
        dims = [d for d in range(self.dim()) if not per_row_fake_quant or d != ch_axis % self.dim()]
        seen = self.detach()
        if not running_min.numel():
            for running, limit in ((running_min, math.inf), (running_max, -math.inf)):
                running.resize_(rows).fill_(limit)
            scale.resize_(rows)
            zero_point.resize_(rows)
        _observe(seen, running_min, running_max, averaging_const, dims)
        for at, ends in enumerate(zip(running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist())):
            made = chosen(*ends, quant_min, quant_max, symmetric_quant)
            scale.reshape(-1)[at], zero_point.reshape(-1)[at] = made
    if not fake_quant_on.item():
        return self.clone()
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(self, scale, zero_point, ch_axis, quant_min, quant_max)
    return _by_tensors(self, scale, zero_point, quant_min, quant_max)


def _error(t: Tensor, low: Tensor, high: Tensor, bits: int) -> float:
    """How far numbers are from what so many bits between two ends make of them."""
    steps = (1 << bits) - 1
    scale = (high - low) / steps
    inverse = 0.0 if not scale else 1 / scale
    codes = ((t - low) * inverse).round().clamp(0, steps)
    return (codes * scale + low - t).norm().item()


@published("choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width)", method=False)
def _choose_qparams_optimized(
    input: Tensor, numel: int, n_bins: int, ratio: float, bit_width: int
) -> tuple[Tensor, Tensor]:
    """The greater and the smaller end between which a few bits serve a vector best: searched from its extremes."""
    if numel < 0 or numel > input.numel():
        raise RuntimeError("numel is out of the bound of input tensor")
    t = input.reshape(-1)[:numel]
    low, high = t.min(), t.max()
    best, least, step = (low, high), _error(t, low, high, bit_width), (high - low) / n_bins
    narrowest = n_bins * (1 - ratio) * step
    while low + narrowest < high:
        from_low, from_high = _error(t, low + step, high, bit_width), _error(t, low, high - step, bit_width)
        if from_low < from_high:
            low = low + step
        else:
            high = high - step
        if min(from_low, from_high) < least:
            best, least = (low, high), min(from_low, from_high)
    return best[1].reshape(1), best[0].reshape(1)


describe(
    fake_quantize_per_tensor_affine="What the tensor would be after being quantized with one scale and zero point; "
    "gradients pass where it is within limits.",
)
