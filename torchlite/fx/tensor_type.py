"""Types of tensors by their sizes, of which some, or all, may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of tensors with these sizes."""

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    """The type, or size, of which nothing is known."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def _sizewise(t1: Any, t2: Any, related: Callable[[Any, Any], bool]) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    return len(t1.__args__) == len(t2.__args__) and all(map(related, t1.__args__, t2.__args__))


def is_consistent(t1: object, t2: object) -> bool:
    """Whether two types could be of one value."""
    return t1 == t2 or Dyn in (t1, t2) or _sizewise(t1, t2, is_consistent)


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether the first type says all that the second says."""
    return t1 == t2 or isinstance(t2, _DynType) or _sizewise(t1, t2, is_more_precise)
