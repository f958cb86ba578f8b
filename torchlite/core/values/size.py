"""`torch.Size`: the shape of a tensor."""

from __future__ import annotations

import math
import operator
from typing import Any

from ..native import quick
from ..structs import know
from .pickling import shown_in, spelled


def _is_index(dim: Any) -> bool:
    try:
        operator.index(dim)
    except TypeError:
        return False
    return True


@shown_in("torch")
class Size(tuple):
    """A tuple of ints that knows how many elements they make."""

    __slots__ = ()

    def __new__(cls, dims: Any = ()) -> Size:
        dims = tuple(dims)
        for i, d in enumerate(dims):
            if d.__class__ is not int and not _is_index(d):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(d).__name__}')")
        return tuple.__new__(cls, [d if d.__class__ is int else d.__index__() for d in dims])

    def numel(self) -> int:
        """The product of the dimensions."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return size(item) if index.__class__ is slice else item

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n: Any) -> Any:
        return size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return spelled(Size), (tuple(self),)


Size.__new__ = staticmethod(quick(Size.__new__, "Size"))  # type: ignore[method-assign]
Size.__getitem__ = quick(Size.__getitem__, "Size.__getitem__")  # type: ignore[method-assign]
know(Size=Size)


def size(dims: Any) -> Size:
    """A Size of a tuple known to hold ints."""
    return tuple.__new__(Size, dims)


class _Sizes(dict[tuple[int, ...], Size]):
    """The Size of each shape that was asked for: tensors have few, and Sizes do not change."""

    def __missing__(self, shape: tuple[int, ...]) -> Size:
        if len(self) >= _MOST:
            self.clear()
        made = self[shape] = Size(shape)
        return made


_MOST = 4096
SIZES = _Sizes()
