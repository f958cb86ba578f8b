"""Arrays without elements: a form (shape, strides, dtype) over memory that is only imagined."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.values import contiguous_strides, reshaped_strides
from ...kernels.array_classes import Flags

Shape = tuple[int, ...]


class NoValues(RuntimeError):
    """Something needs the elements of an array that has none."""

    def __init__(self) -> None:
        super().__init__("Tensor.item() cannot be called on meta tensors")


class Memory:
    """The allocation that an array and its views would share."""

    __slots__ = ("__weakref__", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class MetaArray:
    """An array without elements. Strides and offset count bytes, as NumPy's do."""

    __slots__ = ("base", "dtype", "memory", "offset", "shape", "strides")

    def __init__(
        self, shape: Shape, dtype: Any, strides: Shape, offset: int, memory: Memory, base: MetaArray | None = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.offset = offset
        self.memory = memory
        self.base = base

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype}, strides={self.strides})"

    # ---- what it is

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Flags:
        shape, strides, item = self.shape, self.strides, self.dtype.itemsize
        return Flags(_follows(shape, strides, item), _follows(shape[::-1], strides[::-1], item), self.base is None)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # ---- views

    def shown(self, shape: Shape, strides: Shape, offset: int = 0, dtype: Any = None) -> MetaArray:
        """A view; `offset` is where it begins, in bytes from the beginning of this array."""
        base = self if self.base is None else self.base
        return MetaArray(shape, dtype or self.dtype, strides, self.offset + offset, self.memory, base)

    def transpose(self, *axes: Any) -> MetaArray:
        if len(axes) == 1 and not hasattr(axes[0], "__index__"):
            axes = () if axes[0] is None else tuple(axes[0])
        order = [a % self.ndim for a in axes] or range(self.ndim)[::-1]
        return self.shown(tuple([self.shape[a] for a in order]), tuple([self.strides[a] for a in order]))

    @property
    def T(self) -> MetaArray:
        return self.transpose()

    def swapaxes(self, axis1: int, axis2: int) -> MetaArray:
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    @property
    def mT(self) -> MetaArray:
        return self.swapaxes(-2, -1)

    def squeeze(self, axis: Any = None) -> MetaArray:
        axes = [i for i, n in enumerate(self.shape) if n == 1] if axis is None else axes_of(axis, self.ndim)
        if any(self.shape[a] != 1 for a in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        kept = [i for i in range(self.ndim) if i not in axes]
        return self.shown(tuple([self.shape[i] for i in kept]), tuple([self.strides[i] for i in kept]))

    def reshape(self, *shape: Any, order: str = "C") -> MetaArray:
        if len(shape) == 1 and not hasattr(shape[0], "__index__"):
            shape = tuple(shape[0])
        new = _inferred(shape, self.size)
        item = self.dtype.itemsize
        strides = reshaped_strides(self.shape, tuple([s // item for s in self.strides]), new)
        if strides is None:
            return fresh(new, self.dtype)
        return self.shown(new, tuple([s * item for s in strides]))

    def ravel(self, order: str = "C") -> MetaArray:
        return self.reshape(-1)

    def flatten(self, order: str = "C") -> MetaArray:
        return fresh((self.size,), self.dtype)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
        a, b = axis1 % self.ndim, axis2 % self.ndim
        rows, columns = self.shape[a], self.shape[b]
        count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
        start = offset * self.strides[b] if offset >= 0 else -offset * self.strides[a]
        kept = [i for i in range(self.ndim) if i not in (a, b)]
        return self.shown(
            (*[self.shape[i] for i in kept], count),
            (*[self.strides[i] for i in kept], self.strides[a] + self.strides[b]),
            start if count else 0,
        )

    def view(self, dtype: Any = None) -> MetaArray:
        new = self.dtype if dtype is None else np.dtype(dtype)
        old, item = self.dtype.itemsize, new.itemsize
        if old == item:
            return self.shown(self.shape, self.strides, dtype=new)
        if (self.shape[-1] != 1 and self.strides[-1] != old) or self.shape[-1] * old % item:
            raise ValueError("the last axis does not hold a whole number of elements of this dtype")
        return self.shown((*self.shape[:-1], self.shape[-1] * old // item), (*self.strides[:-1], item), dtype=new)

    @property
    def real(self) -> MetaArray:
        return self._part(0)

    @real.setter
    def real(self, value: Any) -> None: ...

    @property
    def imag(self) -> MetaArray:
        return self._part(1)

    @imag.setter
    def imag(self, value: Any) -> None: ...

    def _part(self, which: int) -> MetaArray:
        if self.dtype.kind != "c":
            return fresh(self.shape, self.dtype) if which else self
        half = np.dtype(f"f{self.dtype.itemsize // 2}")
        return self.shown(self.shape, self.strides, which * half.itemsize, half)

    def __getitem__(self, index: Any) -> MetaArray:
        return _read(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _read(self, index)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    # ---- copies

    def copy(self, order: str = "C") -> MetaArray:
        return self.astype(self.dtype, order)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> MetaArray:
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return fresh(self.shape, dtype, packed(self.shape, self.strides) if order == "K" else None)

    # ---- values, of which there are none

    def item(self) -> Any:
        raise NoValues

    tolist = __bool__ = __int__ = __float__ = __complex__ = item
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NoValues

    def fill(self, value: Any) -> None:
        """Fill with one value, of which nothing remains."""


def fresh(shape: Any, dtype: Any, strides: Shape | None = None) -> MetaArray:
    """An array with memory of its own; `strides` count elements."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    strides = contiguous_strides(shape) if strides is None else strides
    item = dtype.itemsize
    return MetaArray(shape, dtype, tuple([s * item for s in strides]), 0, Memory(math.prod(shape) * item))


def packed(shape: Shape, strides: Shape) -> Shape:
    """Strides, in elements, that fill memory without gaps and keep the order of dimensions."""
    made, step = [0] * len(shape), 1
    for i in sorted(range(len(shape)), key=lambda i: (abs(strides[i]), -i)):
        made[i] = step
        step *= max(shape[i], 1)
    return tuple(made)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """One axis or several, counted from the front."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple([a.__index__() % max(ndim, 1) for a in axes])


def _follows(shape: Shape, strides: Shape, step: int) -> bool:
    """Whether the elements lie one after the other, the last dimension innermost."""
    if 0 in shape:
        return True
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1:
            if s != step:
                return False
            step *= n
    return True


def _inferred(shape: tuple[Any, ...], size: int) -> Shape:
    new = [n.__index__() for n in shape]
    if -1 in new:
        rest = -math.prod(new)
        new[new.index(-1)] = size // rest if rest > 0 else 0
    if math.prod(new) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(shape)}")
    return tuple(new)


# ---- indexing


def _read(array: MetaArray, index: Any) -> MetaArray:
    """What an index gives: a view of what slices and integers name, a fresh array where arrays pick elements."""
    items = [np.asarray(i) if isinstance(i, list) else i for i in (index if index.__class__ is tuple else (index,))]
    if any(_picks(i) and i.dtype == bool for i in items):
        raise NoValues
    named = sum(i is not None and i is not Ellipsis for i in items)
    if Ellipsis not in [i for i in items if not _picks(i)]:
        items.append(Ellipsis)
    at = next(k for k, i in enumerate(items) if i is Ellipsis)
    items[at : at + 1] = [slice(None)] * (array.ndim - named)
    shape: list[int] = []
    strides: list[int] = []
    offset, dim = 0, 0
    picked: list[tuple[int, Shape]] = []  # where among the result's dimensions, and what
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        if dim == array.ndim:
            raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional")
        n, step = array.shape[dim], array.strides[dim]
        dim += 1
        if isinstance(item, slice):
            start, stop, by = item.indices(n)
            count = len(range(start, stop, by))
            shape.append(count)
            strides.append(step * by)
            offset += start * step if count else 0
        elif _picks(item):
            picked.append((len(shape), item.shape))
        else:
            i = item.__index__()
            if not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for axis {dim - 1} with size {n}")
            offset += (i % n) * step
    if not picked:
        return array.shown(tuple(shape), tuple(strides), offset)
    places = [place for place, _ in picked]
    front = places[0] if places[0] == places[-1] else 0  # arrays apart from each other: their dimensions come first
    return fresh((*shape[:front], *np.broadcast_shapes(*[s for _, s in picked]), *shape[front:]), array.dtype)


def _picks(item: Any) -> bool:
    return isinstance(item, (MetaArray, np.ndarray))
