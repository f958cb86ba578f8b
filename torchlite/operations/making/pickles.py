"""What tensors are in pickles: the functions that make them again from their storages, under PyTorch's names."""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...backends.base import get_backend
from ...backends.lazy import CONJ, NEG, flipped
from ...backends.of_integers import INTEGERS, PerChannel, PerTensor, quantized
from ...core.declare import method
from ...core.machine import Tensor, as_class, dispatch, functions, needs_dispatch, wrap, wrap_shown
from ...core.memory import TypedStorage, UntypedStorage
from ...core.values import DeviceLike, dt, shown_in, spelled
from ...core.values.device import device as Device
from ...core.values.layout import COMPRESSED, layout, sparse_coo, strided
from ..shapes.as_strided import extent
from .factories import empty_strided

MOST_DIMS = 64  # that an array can have
_LONGEST = (1 << 63) - 1


# ---- to pickles


@method("__reduce_ex__")
def __reduce_ex__(self: Tensor, protocol: int) -> Any:
    if needs_dispatch((self,), {}):
        return dispatch(__reduce_ex__, (self, protocol), {})
    if self._backward_hooks:
        from ...utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(self)
    make, args = _reduced(self)
    state = object_state(self)
    if type(self) is Tensor and not state:
        return spelled(make), args
    return spelled(_rebuild_from_type_v2), (spelled(make), spelled(type(self)), args, state)


def _reduced(t: Tensor) -> tuple[Any, tuple[Any, ...]]:
    if t.layout is not strided:
        more = (t._array.coalesced,) if t.is_sparse else ()
        return _rebuild_sparse_tensor, (t.layout, (*t._array.parts(), t.shape, *more))
    size, stride = tuple(t.shape), t.stride()
    if t.is_quantized:
        integers = TypedStorage(wrap_storage=UntypedStorage.of(t), dtype=t.dtype)
        told = (t.qscheme(), *t._array.quantizer)
        return _rebuild_qtensor, (integers, t.storage_offset(), size, stride, told, t.requires_grad, OrderedDict())
    if t.is_meta:
        return _rebuild_meta_tensor_no_storage, (t.dtype, size, stride, t.requires_grad)
    raw = UntypedStorage.of(t)
    storage = TypedStorage(wrap_storage=raw, dtype=t.dtype) if t.dtype.has_storage else raw
    args: tuple[Any, ...] = (storage, t.storage_offset(), size, stride, t.requires_grad, OrderedDict())
    bits = t._backend.bits
    metadata = {name: True for name, bit in (("conj", CONJ), ("neg", NEG)) if bits & bit}
    extra = (metadata,) if metadata else ()
    if t.dtype.has_storage:
        return _rebuild_tensor_v2, (*args, *extra)
    return _rebuild_tensor_v3, (*args, t.dtype, *extra)


def object_state(obj: Any) -> Any:
    """What a pickle must keep of an object besides its memory: its attributes, and those in slots; None for neither."""
    attributes = obj.__dict__
    slots = [name for name in copyreg._slotnames(type(obj)) if name not in _TENSOR_SLOTS]  # type: ignore[attr-defined]
    filled = {name: getattr(obj, name) for name in slots if hasattr(obj, name)}
    return (attributes, filled) if filled else attributes or None


_TENSOR_SLOTS = frozenset(copyreg._slotnames(Tensor))  # type: ignore[attr-defined]


def set_object_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes that `object_state` found."""
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
        attributes, slots = state
    else:
        attributes, slots = state, None
    obj.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        if name not in copyreg._slotnames(type(obj)) or name in _TENSOR_SLOTS:  # type: ignore[attr-defined]
            raise RuntimeError(f"Invalid serialized state: {type(obj).__name__} has no slot {name!r}")
        setattr(obj, name, value)
    return obj


# ---- from pickles


def located(storage: Any, d: dt.dtype, offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor over part of a storage. Nothing of what a file says about it is believed."""
    size, stride = tuple(size), tuple(stride)
    if not all([n.__class__ is int for n in (offset, *size, *stride)]):
        raise TypeError("the offset, sizes and strides of a tensor must be integers")
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    check_size(size, stride)
    raw = storage.untyped()
    flat = raw.as_array(d)
    reach = extent(size, stride, offset)
    if reach * d.itemsize > _LONGEST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if reach > flat.size:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if d is dt.bool_ and storage.dtype is not d and flat.size and raw.device.type == "cpu" and raw.bytes.max() > 1:
        raise RuntimeError("a storage with bytes other than 0 and 1 cannot be one of bools")
    if not reach:
        offset = min(offset, flat.size)
    try:
        return wrap_shown(raw._backend.lay(flat, size, stride, offset), d, raw._backend)
    except ValueError as error:  # more elements than addresses, all in one place
        raise RuntimeError(f"a tensor of sizes {list(size)} is too big: {error}") from None


def check_size(size: tuple[int, ...], stride: tuple[int, ...]) -> None:
    """RuntimeError for sizes and strides that no tensor can have."""
    if len(size) > MOST_DIMS:
        raise RuntimeError(f"a tensor cannot have {len(size)} dimensions here: the most is {MOST_DIMS}")
    count = 1
    for n in size:
        count *= n
        if n < 0 or count > _LONGEST:
            raise RuntimeError("numel: integer multiplication overflow")
    if any([s < 0 for s in stride]):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


@shown_in("torch._utils")
def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    return located(storage, storage.dtype, storage_offset, size, stride)


@shown_in("torch._utils")
def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    t = _rebuild_tensor(storage, storage_offset, size, stride)
    return _completed(t, requires_grad, metadata)


@shown_in("torch._utils")
def _rebuild_tensor_v3(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    dtype: dt.dtype, metadata: Any = None,
) -> Tensor:  # fmt: skip
    return _completed(located(storage, dtype, storage_offset, size, stride), requires_grad, metadata)


def _completed(t: Tensor, requires_grad: bool, metadata: Any) -> Tensor:
    if metadata:
        bits = (CONJ if metadata.get("conj") else 0) | (NEG if metadata.get("neg") else 0)
        if bits & CONJ and not t.dtype.is_complex:
            raise RuntimeError("only complex tensors can be conjugates")
        t = wrap(t._array, t.dtype, flipped(t._backend, bits))
    return t._require_grad(True) if requires_grad else t


@shown_in("torch._utils")
def _rebuild_meta_tensor_no_storage(dtype: dt.dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    check_size(tuple(size), tuple(stride))
    t = empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return t._require_grad(True) if requires_grad else t


@shown_in("torch._utils")
def _rebuild_sparse_tensor(layout_: layout, data: Any) -> Tensor:
    if layout_ is sparse_coo:
        indices, values, size, *coalesced = data
        return functions["sparse_coo_tensor"](
            indices, values, size, check_invariants=True, is_coalesced=coalesced[0] if coalesced else None
        )
    if layout_ in COMPRESSED:
        return functions["sparse_compressed_tensor"](*data, layout=layout_, check_invariants=True)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout_}")


@shown_in("torch._tensor")
def _rebuild_from_type_v2(func: Callable[..., Any], new_type: Any, args: tuple[Any, ...], state: Any) -> Any:
    made = func(*args)
    if type(made) is not new_type:
        made = as_class(made, new_type)
    if getattr(new_type, "__setstate__", Tensor.__setstate__) != Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return set_object_state(made, state)


@shown_in("torch._utils")
def _rebuild_device_tensor_from_numpy(data: Any, dtype: dt.dtype, device: DeviceLike, requires_grad: bool) -> Tensor:
    from .host_data import from_numpy

    return _moved(from_numpy(data), dtype, device, requires_grad)


@shown_in("torch._utils")
def _rebuild_device_tensor_from_cpu_tensor(
    data: Tensor, dtype: dt.dtype, device: DeviceLike, requires_grad: bool
) -> Tensor:
    return _moved(data, dtype, device, requires_grad)


def _moved(t: Tensor, dtype: dt.dtype, device: DeviceLike, requires_grad: bool) -> Tensor:
    get_backend(Device(device))  # says so if there is none
    t = t.to(device=device, dtype=dtype)
    return t._require_grad(True) if requires_grad else t


@shown_in("torch._utils")
def _rebuild_qtensor(
    storage: Any, storage_offset: int, size: Any, stride: Any, quantizer_params: Any, requires_grad: bool,
    backward_hooks: Any,
) -> Tensor:  # fmt: skip
    from ... import _quantized  # noqa: F401  # what is done with such tensors

    scheme, *told = quantizer_params
    kind = {"per_tensor_affine": PerTensor}.get(scheme.name, PerChannel)
    if not scheme.name.startswith(("per_tensor_affine", "per_channel_affine")):
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    integers = located(storage, INTEGERS[storage.dtype.name], storage_offset, size, stride)
    return quantized(integers, kind(*told), storage.dtype)


@shown_in("torch._utils")
def _rebuild_wrapper_subclass(*args: Any) -> Any:
    raise NotImplementedError("torchlite has no wrapper-subclass tensors, and this file holds one")
