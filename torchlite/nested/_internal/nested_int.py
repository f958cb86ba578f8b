"""The size of a ragged dimension: a number that stands for the lengths of the components."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from ...core.machine import Tensor

_numbers = itertools.count(1)


class NestedInt(int):
    """Equal to itself and its multiples alone, whatever the lengths are; more than one, and not to be computed with."""

    number: int
    coefficient: int

    def __new__(cls, number: int, coefficient: int = 1) -> NestedInt:
        made = super().__new__(cls, (1 << 60) + number * coefficient)
        made.number, made.coefficient = number, coefficient
        return made

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coefficient == 1 else f"{self.coefficient}*j{self.number}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __index__(self) -> NestedInt:
        return self

    def __hash__(self) -> int:
        return hash((self.number, self.coefficient))

    def __eq__(self, other: object) -> bool:
        own = self.number, self.coefficient
        return isinstance(other, NestedInt) and own == (other.number, other.coefficient)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _relation(self, least: int, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coefficient >= other.coefficient + least
        if isinstance(other, NestedInt) or other > 2 - least:
            raise ValueError("ge: relation is indeterminate")
        return True

    def __ge__(self, other: Any) -> bool:
        return self._relation(0, other)

    def __gt__(self, other: Any) -> bool:
        return self._relation(1, other)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __mul__(self, other: Any) -> NestedInt:
        if isinstance(other, NestedInt):
            raise ValueError(f"unsupported: {type(other)}")
        return NestedInt(self.number, self.coefficient * other)

    __rmul__ = __mul__

    def _refuse(self, other: Any = None) -> Any:
        raise AttributeError("'NestedIntNode' object has no attribute 'add'")

    __add__ = __radd__ = __sub__ = __rsub__ = _refuse

    def __reduce__(self) -> Any:
        return NestedInt, (self.number, self.coefficient)


_known: dict[int, tuple[Any, NestedInt]] = {}  # by the id of what tells the lengths, for as long as that is there


def size_of(offsets: Tensor) -> NestedInt:
    """The size of the ragged dimension that these offsets (or lengths) tell of: the same whenever they are given."""
    key = id(offsets)
    found = _known.get(key)
    if found is None:
        number = NestedInt(next(_numbers))
        found = _known[key] = weakref.ref(offsets, lambda _: _known.pop(key, None)), number
    return found[1]
