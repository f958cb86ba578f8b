"""`torch.utils._ordered_set`: sets that keep the order in which their elements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

T = TypeVar("T")

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet[T], Generic[T]):
    """A set that is gone through in the order in which its elements were first added."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    def add(self, elem: T) -> None:
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        self._dict.pop(elem, None)

    def clear(self) -> None:
        self._dict.clear()

    def copy(self) -> OrderedSet[T]:
        return OrderedSet(self)

    def pop(self) -> T:
        """Take out the element that came last."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def _several(self, others: tuple[Iterable[T], ...], operation: str) -> OrderedSet[T]:
        result = self.copy()
        for other in others:
            getattr(result, operation)(other if isinstance(other, AbstractSet) else OrderedSet(other))
        return result

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        return self._several(others, "__ior__")

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        return self._several(others, "__iand__")

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        return self._several(others, "__isub__")

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        return self._several((other,), "__ixor__")

    def update(self, *others: Iterable[T]) -> None:
        for other in others:
            self |= other  # type: ignore[arg-type]

    def difference_update(self, *others: Iterable[T]) -> None:
        for other in others:
            self -= OrderedSet(other)

    def intersection_update(self, *others: Iterable[T]) -> None:
        for other in others:
            self &= OrderedSet(other)

    def issubset(self, other: Iterable[Any]) -> bool:
        return self <= OrderedSet(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        return self >= OrderedSet(other)
