"""The memory of CUDA devices, which is CuPy's pool: what is said when there is no more, and what the most was."""

from __future__ import annotations

import collections
import gc
from dataclasses import dataclass
from typing import Any

import cupy

from ..core.values import bear_name
from ..exceptions import OutOfMemoryError


class OutOfMemory(OutOfMemoryError, cupy.cuda.memory.OutOfMemoryError):
    """PyTorch's error, and CuPy's."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)

    def __str__(self) -> str:
        return str(self.args[0])


OutOfMemory.__name__ = OutOfMemory.__qualname__ = "OutOfMemoryError"
bear_name(OutOfMemory, "torch")


def allocate(size: int, pool: Any = None) -> Any:
    """Memory of a pool, or of that of all; where there is none, what nobody holds any more is collected first."""
    pool = pool or cupy.get_default_memory_pool()
    try:
        return pool.malloc(size)
    except cupy.cuda.memory.OutOfMemoryError:
        gc.collect()
        pool.free_all_blocks()
        give_back()
        ledger.events["num_alloc_retries"] += 1
    try:
        return pool.malloc(size)
    except cupy.cuda.memory.OutOfMemoryError:
        ledger.events["num_ooms"] += 1
        error = OutOfMemory(_said(size, pool))
    raise error


def _said(wanted: int, pool: Any) -> str:
    device = cupy.cuda.runtime.getDevice()
    free, total = cupy.cuda.runtime.memGetInfo()
    used, reserved = pool.used_bytes(), pool.total_bytes()
    return (
        f"CUDA out of memory. Tried to allocate {readable(wanted)}. GPU {device} has a total capacity of "
        f"{readable(total)} of which {readable(free)} is free. Of the allocated memory {readable(used)} is allocated "
        f"by tensors, and {readable(reserved - used)} is reserved but unallocated."
    )


def readable(size: int) -> str:
    """A number of bytes, as PyTorch writes it."""
    for unit, one in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= one:
            return f"{size / one:.2f} {unit}"
    return f"{size} bytes"


def take_over() -> None:
    """Let CuPy's arrays be allocated here, unless the program has an allocator of its own (RMM's, say)."""
    if cupy.cuda.get_allocator() == cupy.get_default_memory_pool().malloc:
        cupy.cuda.set_allocator(allocate)


def give_back() -> None:
    """Give memory that no array holds back to the current device."""
    pool = cupy.get_default_memory_pool()
    size, blocks = pool.total_bytes(), pool.n_free_blocks()
    pool.free_all_blocks()
    ledger.count(
        cupy.cuda.runtime.getDevice(), segment=pool.n_free_blocks() - blocks, reserved_bytes=pool.total_bytes() - size
    )


@dataclass
class Figure:
    """A number that goes up and down, the most that it was, and by how much it went up and down in all."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0

    def change(self, by: int) -> None:
        self.current += by
        if by < 0:
            self.freed -= by
            return
        self.allocated += by
        self.peak = max(self.peak, self.current)


_POOLS = ("all", "small_pool", "large_pool")
# Figures for each pool by PyTorch's names, and what they are counted by here.
_FIGURES = {
    "active": "allocation", "active_bytes": "allocated_bytes", "allocated_bytes": "allocated_bytes",
    "allocation": "allocation", "inactive_split": "inactive_split", "inactive_split_bytes": "inactive_split_bytes",
    "requested_bytes": "requested_bytes", "reserved_bytes": "reserved_bytes", "segment": "segment",
}  # fmt: skip


class Ledger(cupy.cuda.memory_hook.MemoryHook):
    """Counts what arrays hold, and what is kept for them, on each device from when it is begun there."""

    name = "torchlite.ledger"
    small = 1 << 20  # below, an array is said to be of the small pool, though CuPy has one pool for all

    def __init__(self) -> None:
        self.figures: dict[int, dict[str, Figure]] = {}  # by device, and by name and pool
        self.requested: dict[int, int] = {}  # bytes by address
        self.events = {"num_alloc_retries": 0, "num_ooms": 0}

    def begin(self, device: int) -> None:
        """From what is held now, look for the most anew."""
        if device not in self.figures:
            figures = self.figures[device] = collections.defaultdict(Figure)
            with cupy.cuda.Device(device):
                pool = cupy.get_default_memory_pool()
                figures["allocated_bytes.all"].current = pool.used_bytes()
                figures["reserved_bytes.all"].current = pool.total_bytes()
        for figure in self.figures[device].values():
            figure.peak = figure.current
        if self.name not in cupy.cuda.memory_hook.get_memory_hooks():
            self.__enter__()

    def forget(self, device: int) -> None:
        """Begin anew to count what was allocated and freed."""
        for figure in self.figures.get(device, {}).values():
            figure.allocated = figure.freed = 0
        self.events = dict.fromkeys(self.events, 0)

    def count(self, device: int, pool: str = "", **changes: int) -> None:
        if device in self.figures:
            for name, by in changes.items():
                for part in ("all", pool) if pool else ("all",):
                    self.figures[device][f"{name}.{part}"].change(by)

    def alloc_postprocess(self, device_id: int, mem_size: int, **_: Any) -> None:
        self.count(device_id, segment=1, reserved_bytes=mem_size)

    def malloc_postprocess(self, device_id: int, size: int, mem_size: int, mem_ptr: int, **_: Any) -> None:
        self.requested[mem_ptr] = size
        self._count_array(device_id, 1, mem_size, size)

    def free_postprocess(self, device_id: int, mem_size: int, mem_ptr: int, **_: Any) -> None:
        self._count_array(device_id, -1, mem_size, self.requested.pop(mem_ptr, mem_size))

    def _count_array(self, device: int, sign: int, size: int, requested: int) -> None:
        pool = "small_pool" if size < self.small else "large_pool"
        self.count(device, pool, allocation=sign, allocated_bytes=sign * size, requested_bytes=sign * requested)

    def told(self, device: int) -> dict[str, int]:
        """All figures by PyTorch's names. What CuPy's pool does not tell apart, or does not do, is 0."""
        kept = self.figures[device]
        figures = {f"{name}.{pool}": kept[f"{by}.{pool}"] for name, by in _FIGURES.items() for pool in _POOLS}
        figures |= dict.fromkeys(("oversize_allocations", "oversize_segments"), Figure())
        told = {f"{name}.{kind}": n for name, figure in figures.items() for kind, n in vars(figure).items()}
        segments = kept["segment.all"]
        told |= self.events | {"num_device_alloc": segments.allocated, "num_device_free": segments.freed}
        return dict(sorted((told | {"max_split_size": -1, "num_oom_rejections": 0, "num_sync_all_streams": 0}).items()))


ledger = Ledger()
