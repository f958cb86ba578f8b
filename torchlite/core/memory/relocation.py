"""Moving tensors and storages that exist to other memory: what processes share, or of another size."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..machine import TensorBase
from ..values import no_room
from .shared_memory import Resized, SharedPages, pages_behind, root


class StorageBase:
    """The base of storages: a holder of `bytes`."""

    __slots__ = ()

    bytes: Any
    _backend: Any

    @property
    def device(self) -> Any:
        """The device of the memory."""
        return self._backend.device

    def resizable(self) -> bool:
        """Whether the memory may be given another size."""
        raise NotImplementedError


def share(holder: TensorBase | StorageBase) -> None:
    """Move the memory of a tensor or a storage to shared pages, for all who show any of it."""
    kind = holder.device.type
    array = _memory(holder)
    if kind == "cuda" or pages_behind(array) is not None:
        return
    if kind != "cpu" or not isinstance(array, np.ndarray):
        raise RuntimeError("_share_fd_: only available on CPU")
    alone = is_alone(holder)  # then it needs no search
    owner = root(array)
    old = holder._backend.home.storage(owner)
    new = SharedPages.fresh(old.nbytes).array(0, old.nbytes)
    new[...] = old
    for other in (holder,) if alone else _holders(owner):
        _move(other, _memory(other), old, new)


def resize(storage: StorageBase, nbytes: int) -> None:
    """Give the memory of a storage another size, for all who show any of it.

    Tensors keep their geometry. The memory beyond the end that they reach is never written by this, so that the system
    need not provide it.
    """
    if not storage.resizable():
        raise RuntimeError("Trying to resize storage that is not resizable")
    owner = root(storage.bytes)
    old = storage._backend.home.storage(owner)
    holders = _holders(owner)
    reach = [byte_bounds(_memory(holder))[1] - _address(old) for holder in holders if not _is_whole(holder, old)]
    try:
        new = Resized((max([nbytes, *reach]),), np.uint8)
    except MemoryError:
        raise no_room((nbytes,), 1) from None
    new.held = nbytes
    _fill(new.view(np.ndarray)[:nbytes], old, holders)


def grow(holder: TensorBase | StorageBase, larger: np.ndarray) -> None:
    """Put the memory of a tensor or a storage into that of a larger array, for all who show any of it."""
    home = holder._backend.home
    owner = root(_memory(holder))
    _fill(home.storage(larger), home.storage(owner), _holders(owner))


def _fill(new: np.ndarray, old: np.ndarray, holders: list[Any]) -> None:
    """Copy what there is room for, and let those who show `old` show `new`: the same place of it, or all."""
    kept = min(new.size, old.size)
    new[:kept] = old[:kept]
    for holder in holders:
        if _is_whole(holder, old):
            holder.bytes = new
        else:
            _move(holder, _memory(holder), old, root(new))


def _is_whole(holder: TensorBase | StorageBase, old: np.ndarray) -> bool:
    return isinstance(holder, StorageBase) and holder.bytes.size == old.size


def use_count(address: int) -> int:
    """How many references the memory at an address has: tensors over it, and the storage that told the address."""
    held = [_memory(obj) for obj in gc.get_objects() if issubclass(type(obj), TensorBase)]
    return 1 + sum(isinstance(there, np.ndarray) and _address(root(there)) == address for there in held)


def is_alone(holder: TensorBase | StorageBase) -> bool:
    """Whether an array, held by a tensor and its caller's variable, is all of memory that nobody else shows."""
    # With what is handed over here; a variable would count as one on some Pythons, and as none on others.
    return _memory(holder).base is None and sys.getrefcount(_memory(holder)) <= 3


def _move(holder: TensorBase | StorageBase, there: np.ndarray, old: np.ndarray, new: np.ndarray) -> None:
    """Let one who shows memory of `old` show the same place of `new`."""
    at = _address(there) - _address(old)
    strides = [step * there.itemsize for step in holder._backend.home.strides(there)]
    moved = np.ndarray(there.shape, there.dtype, new, at, strides)
    setattr(holder, "_array" if isinstance(holder, TensorBase) else "bytes", moved)


def _memory(holder: TensorBase | StorageBase) -> Any:
    return getattr(holder, "_array" if isinstance(holder, TensorBase) else "bytes", None)  # None while it is being made


def _holders(owner: np.ndarray) -> list[Any]:
    """All tensors and storages of this process that show an array's memory."""
    kinds: set[type] = {TensorBase, StorageBase}
    open_: list[Any] = list(kinds)
    while open_:
        more = [cls for cls in type.__subclasses__(open_.pop()) if cls not in kinds]
        kinds.update(more)
        open_ += more
    found: list[Any] = [obj for obj in gc.get_objects() if type(obj) in kinds]
    return [obj for obj in found if isinstance(there := _memory(obj), np.ndarray) and root(there) is owner]


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
