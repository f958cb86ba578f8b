"""Moving tensors and storages that exist to memory which processes share."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np

from .shared_memory import SharedPages, pages_behind, root
from .storage import UntypedStorage
from .tensor import TensorBase


def share(holder: TensorBase | UntypedStorage) -> None:
    """Move the memory of a tensor or a storage to shared pages, for all who show any of it."""
    kind = holder.device.type
    array = _memory(holder)
    if kind == "cuda" or pages_behind(array) is not None:
        return
    if kind != "cpu" or not isinstance(array, np.ndarray):
        raise RuntimeError("_share_fd_: only available on CPU")
    # Held by nobody but the holder, this variable and getrefcount's argument, it needs no search.
    alone = array.base is None and sys.getrefcount(array) <= 3
    owner = root(array)
    old = holder.backend.home.storage(owner)
    new = SharedPages.fresh(old.nbytes).array(0, old.nbytes)
    new[...] = old
    start = _address(old)
    for other in (holder,) if alone else _holders():
        there = _memory(other)
        if isinstance(there, np.ndarray) and root(there) is owner:
            at = _address(there) - start
            strides = [step * there.itemsize for step in other.backend.home.strides(there)]
            moved = np.ndarray(there.shape, there.dtype, new, at, strides)
            setattr(other, "array" if isinstance(other, TensorBase) else "bytes", moved)


def _memory(holder: TensorBase | UntypedStorage) -> Any:
    return getattr(holder, "array" if isinstance(holder, TensorBase) else "bytes", None)  # None while it is being made


def _holders() -> list[Any]:
    """All tensors and storages of this process."""
    kinds: set[type] = {TensorBase, UntypedStorage}
    found = list(kinds)
    while found:
        more = [cls for cls in type.__subclasses__(found.pop()) if cls not in kinds]
        kinds.update(more)
        found += more
    return [obj for obj in gc.get_objects() if type(obj) in kinds]


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]
