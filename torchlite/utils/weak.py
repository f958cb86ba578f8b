"""`torch.utils.weak`: weak references to tensors, and mappings by identity whose keys they are."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from ..core.machine import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals others to the same object, whatever that is equal to itself."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or others is None else mine is others


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping by identity, in which nothing stays longer than its key lives."""

    def __init__(self, dict: Any = None, ref_type: type[Any] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _key(self, key: Any) -> Any:
        mapping = weakref.ref(self)

        def forget(ref: Any) -> None:
            owner = mapping()
            if owner is not None:
                owner.data.pop(ref, None)

        return self.ref_type(key, forget)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._key(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what cannot be referred to weakly
            return False

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The references, some of which may be dead by the time they are asked."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __or__(self, other: Any) -> Any:
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
