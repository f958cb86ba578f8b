"""Making quantized tensors of real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.of_integers import INTEGERS, PerChannel, PerTensor, quantized, rounded
from ..core.declare import Composite, describe, publish, published
from ..core.machine import Tensor
from ..core.values import dt, missing_kernel_of
from ..operations.formulas import tensors
from .qparams import chosen


def _check(name: str, t: Tensor, d: dt.dtype) -> None:
    if t.is_quantized:
        raise missing_kernel_of(name, t._backend.real)
    if d.name not in INTEGERS:
        raise RuntimeError(f"ScalarType {d.legacy} is not supported in new_qtensor.")
    if t.dtype is not dt.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {t.dtype.legacy}")


def _check_zero_point(name: str, zero_point: int, d: dt.dtype) -> None:
    limits = dt.iinfo(INTEGERS[d.name])
    for outside, side in ((zero_point < limits.min, "below lower"), (zero_point > limits.max, "above upper")):
        if outside:
            raise RuntimeError(f"{name} zero_point {zero_point} is {side} bound.")


def per_tensor(self: Tensor, scale: Any, zero_point: Any, dtype: dt.dtype) -> Tensor:
    _check("quantize_per_tensor", self, dtype)
    scale, zero_point = (v.item() if isinstance(v, Tensor) else v for v in (scale, zero_point))
    _check_zero_point("quantize_tensor_per_tensor_affine", zero_point, dtype)
    return rounded(self.detach(), PerTensor(float(scale), int(zero_point)), dtype)


def _each(given: Sequence[Tensor], scales: Tensor, zero_points: Tensor, dtype: dt.dtype) -> tuple[Tensor, ...]:
    return tuple([per_tensor(t, s, z, dtype) for t, s, z in zip(given, scales, zero_points, strict=True)])


publish(
    Composite("quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype)", per_tensor),
    Composite(
        "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype)", per_tensor
    ),
    Composite(
        "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype)", _each
    ),
    method=False,
)


@published("quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range)", method=False)
def _quantize_per_tensor_dynamic(self: Tensor, dtype: dt.dtype, reduce_range: bool) -> Tensor:
    """Quantized with the scale and the zero point that suit the smallest and the greatest number."""
    _check("quantize_per_tensor_dynamic", self, dtype)
    if dtype.name == "qint32":
        raise RuntimeError(f"dtype {dtype} not supported")
    limits = dt.iinfo(INTEGERS[dtype.name])
    low, high = (limits.min // 2, limits.max // 2) if reduce_range else (limits.min, limits.max)
    return per_tensor(self, *chosen(self.min().item(), self.max().item(), low, high), dtype)


@published(
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype)", method=False
)
def _quantize_per_channel(self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: dt.dtype) -> Tensor:
    """Quantized with a scale and a zero point for each place along a dimension."""
    _check("quantize_per_channel", self, dtype)
    channels = self.shape[axis]
    for name, given in (("scales", scales), ("zero_points", zero_points)):
        if given.numel() != channels:
            raise RuntimeError(f"length of {name} must equal to channel, expected {channels} got, {given.numel()}")
    whole = not zero_points.is_floating_point()
    kinds = (dt.float64, dt.int64) if whole else (dt.float32, dt.float32)
    kept = [t.detach().to(kind).clone() for t, kind in zip((scales, zero_points), kinds, strict=True)]
    return rounded(self.detach(), PerChannel(kept[0], kept[1], axis), dtype)


@published(
    "empty_quantized(int[] size, Tensor qtensor, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool pin_memory=False, MemoryFormat? memory_format=None)",
    method=False,
)
def _empty_quantized(size: Sequence[int], qtensor: Tensor, *_: Any) -> Tensor:
    """A quantized tensor of a size, quantized as another is, whose elements are not set."""
    array = qtensor._array
    return quantized(array.values.new_empty(size), array.quantizer, qtensor.dtype)


@published(
    "_empty_affine_quantized(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool pin_memory=False, float scale=1, int zero_point=0, MemoryFormat? memory_format=None)",
    method=False,
)
def _empty_affine_quantized(
    size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: bool, scale: float, zero_point: int, *_: Any
) -> Tensor:
    """A quantized tensor whose elements are not set."""
    integers = tensors.empty(size, dtype=INTEGERS[dtype.name], device=device)
    return quantized(integers, PerTensor(scale, zero_point), dtype)


describe(quantize_per_tensor="The tensor, or each of a list, quantized: `round(x / scale) + zero_point` in `dtype`.")
