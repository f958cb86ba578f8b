"""Cutting a tensor into several, which are views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...backends.base import get_backend
from ...core.declare import Composite, LaidOp, LaidView, Op, ViewOp, describe, publish, publish_python
from ...core.machine import LEADING, Tensor, TensorBase
from ...core.values import CPU, Array, Backend, Namespace, dt, wrap_dim
from ..formulas import zeros
from .joining import cat, stack
from .shape import Ints
from .slicing import cut_slice, slice_


def _cut(backend: Backend, array: Array, sizes: Sequence[int], dim: int) -> list[Any]:
    parts, at = [], 0
    for n in sizes:
        parts.append(cut_slice(backend, array, dim, at, at + n, 1))
        at += n
    return parts


def _split(backend: Backend, array: Array, split_size: int, dim: int) -> Any:
    if not array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, array.ndim)
    return _cut(backend, array, _equal_sizes(array.shape[dim], split_size), dim)


def _equal_sizes(length: int, size: int) -> list[int]:
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if not size:
        if length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
        return [0]
    count = max(-(-length // size), 1)
    return [size] * (count - 1) + [length - size * (count - 1)]


def _split_with_sizes(backend: Backend, array: Array, split_sizes: Ints, dim: int) -> Any:
    if not array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    given, dim = dim, wrap_dim(dim, array.ndim)
    if min(split_sizes, default=0) < 0:
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != array.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {array.shape[dim]} (input tensor's size at "
            f"dimension {given}), but got split_sizes={list(split_sizes)}"
        )
    return _cut(backend, array, split_sizes, dim)


def _joined(grads: Sequence[Tensor | None], self_shape: Ints, split_sizes: Sequence[int], dim: int) -> Tensor:
    """The gradient of what was cut: those of the pieces side by side, zeros for unused ones."""
    dim = wrap_dim(dim, len(self_shape))
    some = next(g for g in grads if g is not None)
    return cat.apply(
        tuple([
            zeros(some, (*self_shape[:dim], n, *self_shape[dim + 1 :])) if g is None else g
            for g, n in zip(grads, split_sizes, strict=True)
        ]),
        dim,
    )  # fmt: skip


def _declare(schema: str, kernel: Callable[..., Any], joined: Callable[..., Tensor]) -> tuple[LaidView, LaidOp]:
    """What cuts into views, and into pieces that may be written to although they share a history."""
    shown = LaidView(schema, kernel, {"self": joined}, multi=True)
    unsafe = LaidOp(f"unsafe_{schema}", kernel, {"self": joined}, linear=True, batch=LEADING)
    publish(unsafe)
    return shown, unsafe


split, unsafe_split = _declare(
    "split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", _split,
    lambda grads, self_shape, split_size, dim: (
        _joined(grads, self_shape, _equal_sizes(self_shape[dim], split_size), dim)
    ),
)  # fmt: skip
split_with_sizes, unsafe_split_with_sizes = _declare(
    "split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", _split_with_sizes, _joined
)
publish(split_with_sizes)


def _split_as(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Op, list[Any]]:
    one = isinstance(split_size, int) or (isinstance(split_size, Tensor) and split_size.numel() == 1)
    op = split if one else split_with_sizes
    return op, op.bind((self, split_size, dim), {})


def split_any(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller) or of given sizes along a dimension."""
    op, values = _split_as(self, split_size, dim)
    return op.apply(*values)


for _operands, _method in (("Tensor tensor, any split_size_or_sections", False), ("Tensor self, any split_size", True)):
    publish_python(f"split({_operands}, int dim=0) -> Tensor[]", split_any, not _method, _method, comes_to=_split_as)


def _chunk(name: str, one: Op, several: Op) -> None:
    def comes_to(self: Tensor, chunks: int, dim: int = 0) -> tuple[Op, tuple[Any, ...]]:
        shape = self._array.shape
        if not shape:
            raise RuntimeError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = -(-shape[wrap_dim(dim, len(shape))] // chunks)
        return (one, (self, size, dim)) if size else (several, (self, (0,) * chunks, dim))

    def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """At most so many pieces of equal size (the last may be smaller)."""
        op, values = comes_to(self, chunks, dim)
        return op.apply(*values)

    publish_python(f"{name}(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk, comes_to=comes_to)


_chunk("chunk", split, split_with_sizes)
_chunk("unsafe_chunk", unsafe_split, unsafe_split_with_sizes)


def _cut_at(self: Tensor, ends: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    pieces = zip((0, *ends), (*ends, self._array.shape[dim]), strict=True)
    return tuple([slice_.apply(self, dim, start, end, 1) for start, end in pieces])


_HANDLE = 64  # bytes that a view takes at the very least


def tensor_split(self: Tensor, where: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many pieces, of sizes that differ by one at most, or pieces that end at these places."""
    shape = self._array.shape
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(shape))
    if isinstance(where, TensorBase):
        if where.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                f"but got a tensor with {where.dim()} dims"
            )
        if where.dtype is not dt.int64:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {where.dtype.legacy}"
            )
        if where.device.type != "cpu":
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {where.device.type}"
            )
        where = where.tolist()
    if isinstance(where, (list, tuple)):
        return _cut_at(self, [i.__index__() for i in where], dim)
    if where <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {where}")
    get_backend(CPU).check_room((where, _HANDLE), dt.uint8.numpy)
    size, larger = divmod(shape[dim], where)
    return _cut_at(self, [i * size + min(i, larger) for i in range(1, where)], dim)


publish(
    Composite("tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]", tensor_split),
    Composite("tensor_split(Tensor self, int[] indices, int dim=0) -> Tensor[]", tensor_split),
    Composite("tensor_split(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]", tensor_split),
)


def _dimension_split(name: str, least: int) -> None:
    def split_along(self: Tensor, where: Any) -> tuple[Tensor, ...]:
        ndim = self.dim()
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} "
                "dimensions!"
            )
        dim = {"hsplit": 0 if ndim == 1 else 1, "vsplit": 0, "dsplit": 2}[name]
        length = self._array.shape[dim]
        if where.__class__ is int and (where <= 0 or length % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {length} is not "
                f"divisible by the split_size {where}!"
            )
        return tensor_split(self, where, dim)

    split_along.__doc__ = "Equal pieces, or pieces that end at these places."
    publish(
        Composite(f"{name}(Tensor self, int sections) -> Tensor[]", split_along),
        Composite(f"{name}(Tensor self, int[] indices) -> Tensor[]", split_along),
    )


_dimension_split("hsplit", 1)
_dimension_split("vsplit", 2)
_dimension_split("dsplit", 3)


def _unbind(xp: Namespace, array: Array, dim: int) -> list[Any]:
    before = (slice(None),) * wrap_dim(dim, array.ndim)
    if not array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [array[(*before, i, ...)] for i in range(array.shape[dim])]


def _stacked(grads: Sequence[Tensor | None], dim: int) -> Tensor:
    some = next(g for g in grads if g is not None)
    return stack.apply(tuple([zeros(some, ()).expand(some.shape) if g is None else g for g in grads]), dim)


unbind = ViewOp("unbind.int(Tensor self, int dim=0) -> Tensor[]", _unbind, {"self": _stacked}, multi=True)
publish(unbind)


describe(
    dsplit="The pieces of a tensor along its third dimension: so many, or cut at these places.",
    hsplit="The pieces of a tensor along its second dimension (of a vector, its first): so many, or cut at these "
    "places.",
    split_with_sizes="Views of pieces of these sizes along a dimension.",
    tensor_split="Views of so many pieces along a dimension, of nearly one size, or cut at these places.",
    unbind="Views of all slices along a dimension.",
    unsafe_split="As `split`, with pieces that may be written to although they share a history.",
    unsafe_split_with_sizes="As `split_with_sizes`, with pieces that may be written to although they share a history.",
    vsplit="The pieces of a tensor along its first dimension: so many, or cut at these places.",
)
