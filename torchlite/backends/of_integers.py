"""Quantized tensors: integers in memory that stand for real numbers, by scales and zero points.

A quantized tensor holds as its array a `QuantizedArray`: a tensor of integers on the device, and the *quantizer* that
says what these stand for. Its backend is a twin of the device's, on the level of the sparse ones; as there, an op runs
by a rule, and is refused where there is none.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from ..core.machine import Tensor, wrap
from ..core.machine.format import _completed, _contents
from ..core.values import dt, strided
from .base import Backend
from .sparse import Sparse, SparseArray, _part


class PerTensor(NamedTuple):
    """One scale and one zero point for all elements."""

    scale: float
    zero_point: int


class PerChannel(NamedTuple):
    """A scale and a zero point for each place along a dimension."""

    scales: Tensor
    zero_points: Tensor
    axis: int


class QuantizedArray(SparseArray):
    """The array of a quantized tensor."""

    __slots__ = ("quantizer",)

    def __init__(self, values: Tensor, quantizer: PerTensor | PerChannel) -> None:
        self.values = values
        self.quantizer = quantizer
        self.shape = values._array.shape

    strides = property(lambda self: self.values._array.strides)
    flags = property(lambda self: self.values._array.flags)

    def parts(self) -> tuple[Tensor]:
        return (self.values,)

    def over(self, *parts: Tensor) -> QuantizedArray:
        return QuantizedArray(parts[0], self.quantizer)

    def write_numbers(self, t: Tensor, d: dt.dtype) -> None:
        """Hold the integers nearest to real numbers."""
        self.values.copy_(rounded(t, self.quantizer, d)._array.values)


class QuantizedBackend(Sparse):
    """That of quantized tensors."""

    Array = QuantizedArray
    level = 3
    layout = strided
    kind = "Quantized"
    quantized = True
    rules: ClassVar[dict[str, Callable[..., Any]]] = {}
    writes: ClassVar[dict[str, Callable[..., Any]]] = {}
    called: ClassVar[dict[str, str]] = {}

    def strides(self, array: QuantizedArray) -> tuple[int, ...]:
        return array.values.stride()

    def offset(self, array: QuantizedArray) -> int:
        return array.values.storage_offset()

    def pointer(self, array: QuantizedArray) -> int:
        return array.values.data_ptr()

    def behind(self, array: QuantizedArray) -> tuple[Backend, Any]:
        return array.values._backend, array.values._array

    def number(self, array: QuantizedArray) -> Any:
        return self.home.number(real(array)._array)

    def write(self, array: QuantizedArray, value: Any) -> None:
        """The integers of another tensor, and what they stand for."""
        array.values.copy_(value.values)
        array.quantizer = value.quantizer

    def shown(self, array: QuantizedArray) -> str:
        """The `repr` of a tensor."""
        prefix = "tensor("
        return _completed(prefix + _contents(real(array), len(prefix)), _described(array), len(prefix))

    def read(self, array: QuantizedArray) -> Any:
        raise RuntimeError("load_scalar: invalid type")

    def to_host(self, array: QuantizedArray) -> Any:
        raise TypeError(f"Got unsupported ScalarType {_LEGACY[array.values.dtype]}")


def _described(array: QuantizedArray) -> Iterator[str]:
    """What the elements do not tell of a quantized tensor."""
    values, quantizer = array.values, array.quantizer
    if values.device.type != "cpu":
        yield f"device='{values.device}'"
    yield f"size={tuple(array.shape)}"
    yield f"dtype=torch.q{values.dtype.name}"
    if isinstance(quantizer, PerTensor):
        yield "quantization_scheme=torch.per_tensor_affine"
        yield f"scale={quantizer.scale}"
        yield f"zero_point={quantizer.zero_point}"
        return
    yield f"quantization_scheme=torch.per_channel_affine{'_float_qparams' * quantizer.zero_points.is_floating_point()}"
    yield f"scale={quantizer.scales}"
    yield f"zero_point={quantizer.zero_points}"
    yield f"axis={quantizer.axis}"


INTEGERS = {"qint8": dt.int8, "quint8": dt.uint8, "qint32": dt.int32}
_LEGACY = {kind: dt.NAMES[name].legacy for name, kind in INTEGERS.items()}


def quantized_backend(home: Backend) -> Any:
    """The backend of quantized tensors on the device of `home`."""
    return home.twins.get("quantized") or home.twins.setdefault("quantized", _twin(home))


def _twin(home: Backend) -> Backend:
    twin = copy.copy(home)
    twin.__class__ = _quantized(type(home))  # type: ignore[arg-type]
    twin.__dict__.pop("guarded", None)
    twin.real, twin.layout, twin.Array = twin, strided, QuantizedArray
    return twin


@functools.cache
def _quantized(home: type[Backend]) -> type[Backend]:
    return type(f"Quantized{home.__name__}", (QuantizedBackend, home), {})


def quantized(integers: Tensor, quantizer: PerTensor | PerChannel, d: dt.dtype) -> Tensor:
    """The quantized tensor of these integers."""
    return wrap(QuantizedArray(_part(integers), quantizer), d, quantized_backend(integers._backend.home))


def _along(t: Tensor, axis: int, ndim: int) -> Tensor:
    """A vector as it broadcasts along a dimension."""
    return t.reshape(-1, *[1] * (ndim - 1 - axis))


def real(array: QuantizedArray) -> Tensor:
    """The numbers that integers stand for, in float32."""
    made, quantizer = array.values, array.quantizer
    if isinstance(quantizer, PerTensor):
        return (made.long() - quantizer.zero_point).float() * made.new_tensor(quantizer.scale, dtype=dt.float32)
    scales, zero_points = (_along(t, quantizer.axis, made.dim()) for t in (quantizer.scales, quantizer.zero_points))
    return (made.long() - zero_points).float() * scales.float()


def rounded(t: Tensor, quantizer: PerTensor | PerChannel, d: dt.dtype) -> Tensor:
    """The quantized tensor of the integers nearest to real numbers."""
    if isinstance(quantizer, PerTensor):
        scale, zero_point = t.new_tensor(quantizer.scale, dtype=dt.float32), quantizer.zero_point
    else:
        scale, zero_point = (_along(v, quantizer.axis, t.dim()) for v in (quantizer.scales, quantizer.zero_points))  # type: ignore[assignment]
        scale = scale.float()
    kind = INTEGERS[d.name]
    limits = dt.iinfo(kind)
    steps = (t * scale.reciprocal() + zero_point).round().double()
    return quantized(steps.clamp(limits.min, limits.max).to(kind), quantizer, d)
