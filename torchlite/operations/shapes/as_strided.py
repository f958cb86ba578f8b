"""`as_strided`: geometry in elements over the whole storage."""

from __future__ import annotations

from typing import Any

from ...core.declare import LaidView, describe, publish
from ...core.machine import Leading, Tensor, functions
from ...core.values import Array, Backend, contiguous_format, dt
from ..formulas import ones, options, zeros
from ..making.factories import arange
from .shape import Ints


def _as_strided(backend: Backend, array: Array, size: Ints, strides: Ints, offset: int | None) -> Any:
    if len(size) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    if min(size, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(strides)}")
    if offset is None:
        offset = backend.offset(array)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = extent(size, strides, offset) * array.itemsize
    available = backend.storage(array).size if needed else 0
    if needed > available:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{array.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {available}"
        )
    return backend.as_strided(array, size, strides, offset)


def extent(size: Ints, strides: Ints, offset: int) -> int:
    """How many elements from the start of the storage on a geometry takes in."""
    return 0 if 0 in size else offset + 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])


def _overlaps(size: Ints, strides: Ints) -> bool:
    """Whether two elements of this geometry may share a place."""
    reach = 0
    for s, n in sorted(zip(strides, size, strict=True)):
        if n > 1:
            if s <= reach:
                return True
            reach += (n - 1) * s
    return False


def _as_strided_backward(
    g: Tensor, self_shape: Ints, self_stride: Ints, self_storage_offset: int, size: Ints, stride: Ints,
    storage_offset: int | None,
) -> Tensor:  # fmt: skip
    """Add each element of `g` to the place in the input that it was read from."""
    if 0 in size or 0 in self_shape:
        return zeros(g, self_shape)
    start = self_storage_offset if storage_offset is None else storage_offset
    low = min(start, self_storage_offset)
    reach = max(extent(self_shape, self_stride, self_storage_offset), extent(size, stride, start), low) - low
    flat = g.new_zeros((reach,))
    shared, repeated = _overlaps(self_shape, self_stride), _overlaps(size, stride)
    places = arange(0, reach, **options(flat) | {"dtype": dt.int64}) if shared or repeated else flat
    if repeated:
        read = places.as_strided(size, stride, start - low)
        values = g.reshape((-1,))
        flat.index_add_(0, read.reshape((-1,)), values)
    else:
        flat.as_strided(size, stride, start - low).copy_(g)
    if shared:  # an element of the input is there several times: each gets its share
        times = functions["zeros_like"](flat, memory_format=contiguous_format)
        read = places.as_strided(self_shape, self_stride, self_storage_offset - low).reshape((-1,))
        flat.div_(times.index_add_(0, read, ones(flat, (1,)).expand(read.shape)))
    return flat.as_strided(self_shape, self_stride, self_storage_offset - low)


def _as_strided_batch(self: Tensor, size: Ints, strides: Ints, offset: int | None) -> Tensor:
    """The op on every element, which may not reach into the memory of others."""
    if len(size) != len(strides):
        raise RuntimeError(
            "Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
            f"{list(size)} and stride {list(strides)}"
        )
    own = self.storage_offset()
    start = own if offset is None else offset
    end = start + _reach(size, strides)
    limit = own + _reach(self.shape[1:], self.stride()[1:])
    if 0 not in size and min(strides, default=0) >= 0 and not own <= start <= end <= limit:
        raise RuntimeError(
            f"result = tensor.as_strided({list(size)}, {list(strides)}, {start}) can access memory outside of "
            f"`tensor`. `result` can access some memory in range [{start}, {end}], but `tensor` can only access some "
            f"memory in range [{own}, {limit}]. This is not supported inside of vmap, please try to rewrite the "
            "`as_strided` call as a sequence of PyTorch view operations"
        )
    return as_strided.apply(self, (self.shape[0], *size), (self.stride(0), *strides), offset)


def _reach(size: Ints, strides: Ints) -> int:
    """How far the last element lies behind the first, and one more."""
    return 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])


as_strided = LaidView(
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
    _as_strided,
    {"self": _as_strided_backward},
    linear=False,  # in the memory, not in the elements
    batch=Leading(call=_as_strided_batch),
    shows="size stride storage_offset",
    by_form=False,  # a form does not tell where in memory its operand begins
)
publish(as_strided)


describe(
    as_strided="""A view of the memory with any size, strides and offset, counted in elements.

    >>> torch.arange(4).as_strided((2, 3), (1, 1))
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """,
)
