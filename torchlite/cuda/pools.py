"""`torch.cuda`'s pools of memory beside the one that tensors come from: they are CuPy's."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from ..core.values import DeviceLike, shown_in
from . import _index, _needed, is_available
from .unsupported import lacking_function


@shown_in("torch.cuda.memory")
class MemPool:
    """A pool of memory of its own, which gives what tensors in it held to others in it alone.

    What lies in it is not counted by `memory_allocated` and its kin.
    """

    snapshot = lacking_function("MemPool.snapshot", "CuPy's pools tell no more than their sizes")

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class MemPool")
        if allocator is not None:
            raise NotImplementedError("torchlite's pools take no allocators of others: see cupy.cuda.set_allocator")
        self._pool = _needed().MemoryPool()
        self._uses = 1

    @property
    def id(self) -> Any:
        """What graphs take as their `pool`."""
        return self._pool

    @property
    def allocator(self) -> None:
        """Where its memory comes from, if not from CUDA itself."""

    def use_count(self) -> int:
        """How often it is in use, itself included."""
        return self._uses


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: DeviceLike = None) -> Iterator[None]:
    """Inside, this thread's tensors of a device are made in a pool."""
    from ..backends.cupy_memory import allocate

    pool._uses += 1
    try:
        with _needed().Device(_index(device)), _needed().using_allocator(functools.partial(allocate, pool=pool.id)):
            yield
    finally:
        pool._uses -= 1
