"""`torch.accelerator.memory`: how much of the accelerator's memory is used."""

from __future__ import annotations

from .asked import needed, of_cuda

__all__ = [
    "empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]  # fmt: skip

get_memory_info, memory_stats = of_cuda("get_memory_info", "mem_get_info"), of_cuda("memory_stats")
memory_allocated, memory_reserved = of_cuda("memory_allocated"), of_cuda("memory_reserved")
max_memory_allocated, max_memory_reserved = of_cuda("max_memory_allocated"), of_cuda("max_memory_reserved")
reset_accumulated_memory_stats = of_cuda("reset_accumulated_memory_stats")
reset_peak_memory_stats = of_cuda("reset_peak_memory_stats")


def empty_cache() -> None:
    needed().empty_cache()


def empty_host_cache() -> None:
    needed()
