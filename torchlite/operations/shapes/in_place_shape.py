"""Giving a tensor another shape, or other memory, in place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, Op, Signature, describe, publish, publish_python, published, seen_whole
from ...core.machine import PLAIN, Tensor, TensorBase, bump, wrap, wrap_shown
from ...core.machine.node import DetachedCounter, shared_counter
from ...core.machine.operands import requires_grad
from ...core.machine.tangent import moves, set_tangent, stop, tangents_of
from ...core.machine.view import CopySlices, View, check_writable, reshaped, resolve
from ...core.memory import TypedStorage, UntypedStorage, grow, is_alone, movable
from ...core.state import local, silent
from ...core.values import DeviceLike, forward_not_implemented, missing_kernel_of
from ...core.values import dtype as dt
from ...core.values.layout import (
    channels_last,
    channels_last_3d,
    channels_last_strides,
    contiguous_format,
    contiguous_strides,
    memory_format,
    preserve_format,
    sparse_coo,
    strided,
)
from ..making.copy import check_format
from ..making.factories import settled
from .as_strided import as_strided, extent
from .orders import t, transpose
from .shape import Ints, squeeze, squeeze_dim, squeeze_dims, unsqueeze


class InPlaceView(Op):
    """A view op whose result takes the place of its operand."""

    def __init__(self, viewed: Op, node: str) -> None:
        name = viewed.signature.name
        schema = viewed.signature.text.replace(name, f"{name}_", 1)
        super().__init__(schema, viewed.kernel, {"self": viewed.rules[0][1].said}, node=node, shows=viewed.shows)
        self.viewed = viewed

    def apply(self, *values: Any) -> Any:
        target: Tensor = values[0]
        arguments = values[1:]
        grad, seer = local.state.mode.grad, local.state.mode.seer
        edge = None
        if grad:
            check_writable(target, False)
            edge = resolve(target)
        viewed = self.viewed
        backend = target._backend.real
        shown = target._alias()
        try:
            if seer is not None or backend.handed:
                shown._array = self.shown_by(functools.partial(seer or backend.run, self), target, values)
            elif backend.level:
                own = None if backend.layout is strided else backend.writes.get(viewed.name)
                shown._array = (own or viewed.apply)(shown, *arguments)._array
            else:
                array = target._array
                shown._array = viewed.kernel_on(backend)(array if array.size else backend.definite(array), *arguments)
        except RuntimeError as error:
            said = str(error).replace(f"{viewed.signature.name}()", f"{self.signature.name}()")
            raise type(error)(said) from None
        if edge is not None:
            before = target._alias()
            before._edge = edge
            self.record((before, *arguments), (shown,))
        tangents = [(level, tangent) for level, tangent in tangents_of(target)]
        view = target._edge
        path = reshaped(target, view, viewed, arguments) if view.__class__ is View else ()
        target._array = shown._array
        if backend.strided and not backend.level and target.__class__ in PLAIN:
            target._backend = wrap_shown(target._array, target.dtype, backend)._backend  # its strides may be odd now
        if seer is None:
            bump(target)
        for level, tangent in tangents:
            set_tangent(target, level, viewed.apply(tangent, *arguments))
        if view.__class__ is View:
            target._edge = View(view.base, shown._edge or view.edge, view.kind, path)
            if shown._edge is None:
                target._edge.seen = -1  # stale: its history is that of the old shape
        elif shown._edge is not None:
            target._edge = shown._edge
        return target

    def shown_by(self, run: Callable[..., Any], target: Tensor, values: Sequence[Any]) -> Any:
        """What a handler makes the target show, which still shows what it did."""
        array = target._array
        try:
            local.state.within(silent(local.state.mode), run, values)
            return target._array
        finally:
            target._array = array


transpose_ = InPlaceView(transpose, "TransposeBackward1")
publish(transpose_, function=False)
publish_python("swapdims_(Tensor self, int dim0, int dim1)", transpose_.apply, function=False)
publish_python("swapaxes_(Tensor self, int axis0, int axis1)", transpose_.apply, function=False)
publish(InPlaceView(t, "TBackward1"), function=False)
publish(InPlaceView(unsqueeze, "UnsqueezeBackward1"), function=False)
publish(InPlaceView(as_strided, "AsStridedBackward1"))
publish(
    InPlaceView(squeeze, "SqueezeBackward3"),
    InPlaceView(squeeze_dim, "SqueezeBackward4"),
    InPlaceView(squeeze_dims, "SqueezeBackward5"),
    function=False,
)


@published("detach_(Tensor self)")
def detach_(self: Tensor) -> Tensor:
    """Forget this tensor's history; in inference mode, which leaves histories alone, nothing happens."""
    if local.state.mode.inference:
        return self
    if self._edge.__class__ is View:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
        )
    if self._edge.__class__ is tuple:
        written = self._edge[0].last_written(self) if self._edge[0].__class__ is CopySlices else None
        if written is not None:
            resolve(written)  # a view last written through keeps the history that leads here
        counter: Any = self._counter
        if counter.__class__ is not DetachedCounter:
            counter = self._counter = DetachedCounter(shared_counter(self))
        counter.detach()
    self._edge = None
    stop(self)
    return self


# ---- other memory


def _place(self: Tensor, source: Tensor, size: Ints, strides: Ints, offset: int) -> Tensor:
    """Show the memory of `source` with this geometry; if it is too small, all who show it get more."""
    backend = self._backend.real
    if min(size, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if min(strides, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(strides)}")
    needed = extent(size, strides, offset)
    array = source._array
    there = backend.storage(array).size
    if needed * array.itemsize > there:
        on_host = backend.device.type == "cpu"
        if on_host and not movable(array):
            raise RuntimeError("Trying to resize storage that is not resizable")
        larger = settled(wrap(backend.empty((needed,), array.dtype), self.dtype, backend))._array
        if on_host and not is_alone(source):
            grow(source, larger)
        else:
            backend.storage(larger)[:there] = backend.storage(array)
        array = larger
    self._array = backend.as_strided(array, size, strides, offset)
    return self


_RESIZE = Signature("resize_(Tensor self, int[] size, *, MemoryFormat? memory_format=None)")


@published(_RESIZE.text, function=False)
def resize_(self: Tensor, size: Ints, memory_format: memory_format | None = None) -> Tensor:
    """Give this tensor another size; its memory is kept as long as it suffices."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    if moves(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    told: Any = self._backend.real if self._backend.handed else local.state.mode.seer
    if told is not None:
        told.together("resize_", "default", _RESIZE, (self, size, memory_format))
    elif _resized(self, size, memory_format):
        bump(self)
    return self


def _resized(self: Tensor, size: Ints, memory_format: memory_format | None = None) -> bool:
    """Give a tensor another size, and say whether it needed one."""
    if self._backend.layout is not strided:
        self._backend.resize(self, size)
        return True
    strides = contiguous_strides(size)
    if memory_format not in (None, contiguous_format):
        if memory_format is preserve_format:
            raise RuntimeError("Unsupported memory format: Preserve")
        check_format(len(size), memory_format)
        strides = channels_last_strides(size)
    elif size == self._array.shape:
        return False
    if self._backend.home.level:
        self._array = self._backend.home.resized(self._array, size, memory_format)
    else:
        _place(self, self, size, strides, self.storage_offset())
    return True


@published("_resize_output_(Tensor self, int[] size, Device device)")
def _resize_output_(self: Tensor, size: Ints, device: DeviceLike) -> Tensor:
    """What `out=` does to a tensor of another size, whose history it does not look at."""
    _resized(self, size)
    return self


@published("resize_as_(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None)")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: memory_format | None = None) -> Tensor:
    """Give this tensor the size of another, and with `preserve_format` its order of dimensions too."""
    if self.layout is the_template.layout is sparse_coo:
        return self.resize_as_sparse_(the_template)
    if memory_format is preserve_format:
        found = [f for f in (channels_last, channels_last_3d) if the_template.is_contiguous(memory_format=f)]
        memory_format = found[0] if found and not the_template.is_contiguous() else None
    return resize_(self, the_template._array.shape, memory_format)


def _set(self: Tensor) -> Tensor:
    """Leave this tensor without elements."""
    return _set_geometry(self, self.new_empty((0,)), 0, (0,), (1,))


def _in_storage(source: Any, d: dt.dtype) -> Tensor:
    """A tensor as it is; all of a storage as elements of `d`."""
    if isinstance(source, TensorBase):
        return source
    if isinstance(source, TypedStorage) and source.dtype is not d:
        raise RuntimeError(
            f"Expected a Storage of type {d.cname} or an UntypedStorage, but got type {source.dtype.legacy} for "
            "argument 1 'storage'"
        )
    if not isinstance(source, (UntypedStorage, TypedStorage)):
        raise TypeError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    storage = source.untyped()
    return wrap(storage.as_array(d), d, storage._backend)


def _set_source(self: Tensor, source: Any) -> Tensor:
    """Show the memory of `source`, a tensor or a storage, as it does."""
    return _set_tensor(self, source if isinstance(source, TensorBase) else _in_storage(source, self.dtype))


@seen_whole("set_(Tensor self, Tensor source)", "source_Tensor")
def _set_tensor(self: Tensor, source: Tensor) -> Tensor:
    if self._backend.handed:
        self._array.form = source._array
        return self
    return _set_geometry(self, source, 0, source._array.shape, source.stride())


def _check_room(self: Tensor, source: Tensor, offset: int, size: Ints, stride: Ints) -> None:
    """That elements laid so lie in the source's storage, which grows only for a geometry that the tensor hasn't yet."""
    if 0 in size or source.is_meta:
        return
    steps = stride or contiguous_strides(size)
    if min(steps, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(steps)}")
    if size != self._array.shape or steps != self.stride():
        return
    itemsize, room = source.dtype.itemsize, source.untyped_storage().nbytes()
    needed = (offset + 1 + sum([(n - 1) * s for n, s in zip(size, steps, strict=True)])) * itemsize
    if needed > room:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {room}"
        )


def _set_geometry(self: Tensor, source: Any, storage_offset: int, size: Ints, stride: Ints) -> Tensor:
    """Show the memory of `source`, a tensor or a storage, with another geometry, so far from where it begins."""
    source = _in_storage(source, self.dtype)
    if source.device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{source.device}".  This is no longer allowed; the devices must match.'
        )
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if stride and len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype.cname} to a tensor of type {self.dtype.cname}")
    storage_offset += source.storage_offset()
    _check_room(self, source, storage_offset, size, stride)
    if local.state.mode.grad:
        check_writable(self, False)
    if moves(self):
        raise forward_not_implemented("set", in_place=True)
    _place(self, source, size, stride or contiguous_strides(size), storage_offset)
    bump(self)
    return self


publish(
    Composite("set_(Tensor self)", _set),
    Composite("set_(Tensor self, any source)", _set_source),
    Composite("set_(Tensor self, any source, int storage_offset, int[] size, int[] stride=[])", _set_geometry),
    function=False,
)


@published("is_set_to(Tensor self, Tensor tensor) -> bool", function=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory with the same geometry."""
    for shown in (self, tensor):
        if shown.layout is not strided:
            raise missing_kernel_of("is_set_to", shown._backend)
    return (
        self.dtype is tensor.dtype
        and self._array.shape == tensor._array.shape
        and self.stride() == tensor.stride()
        and self.data_ptr() == tensor.data_ptr()
        and not (self._backend.lazy or tensor._backend.lazy)
    )


describe(
    as_strided_="Shows the memory with another size, strides and offset.", squeeze_="Takes dimensions of size 1 away.",
    swapaxes_="Exchanges two dimensions.", swapdims_="Exchanges two dimensions.", t_="Transposes a matrix.",
    transpose_="Exchanges two dimensions.", unsqueeze_="Adds a dimension of size 1.",
    set_="Makes the tensor show the memory of another, or of a storage.",
)  # fmt: skip
