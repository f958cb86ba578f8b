"""The memory of CUDA devices, which is CuPy's pool: what is said when there is no more, and what the most was."""

from __future__ import annotations

import gc
from typing import Any

import cupy

from ..core.values.pickling import bear_name
from ..exceptions import OutOfMemoryError


class OutOfMemory(OutOfMemoryError, cupy.cuda.memory.OutOfMemoryError):
    """PyTorch's error, and CuPy's."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)

    def __str__(self) -> str:
        return str(self.args[0])


OutOfMemory.__name__ = OutOfMemory.__qualname__ = "OutOfMemoryError"
bear_name(OutOfMemory, "torch")


def allocate(size: int) -> Any:
    """Memory of the pool; where there is none, what nobody holds any more is collected first."""
    pool = cupy.get_default_memory_pool()
    try:
        return pool.malloc(size)
    except cupy.cuda.memory.OutOfMemoryError:
        gc.collect()
        pool.free_all_blocks()
    try:
        return pool.malloc(size)
    except cupy.cuda.memory.OutOfMemoryError:
        peaks.refusals += 1
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


class Peaks(cupy.cuda.memory_hook.MemoryHook):
    """Counts what arrays hold from when it is begun: the sum, and the most that it was, on each device."""

    name = "torchlite.peaks"

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.most: dict[int, int] = {}
        self.allocations = self.frees = self.refusals = 0

    def begin(self, device: int) -> None:
        """From what is held now, look for the most anew."""
        with cupy.cuda.Device(device):
            self.held[device] = self.most[device] = cupy.get_default_memory_pool().used_bytes()
        if self.name not in cupy.cuda.memory_hook.get_memory_hooks():
            self.__enter__()

    def malloc_postprocess(self, device_id: int, mem_size: int, **_: Any) -> None:
        self.allocations += 1
        held = self.held[device_id] = self.held.get(device_id, 0) + mem_size
        if held > self.most.get(device_id, 0):
            self.most[device_id] = held

    def free_postprocess(self, device_id: int, mem_size: int, **_: Any) -> None:
        self.frees += 1
        self.held[device_id] = self.held.get(device_id, 0) - mem_size


peaks = Peaks()
