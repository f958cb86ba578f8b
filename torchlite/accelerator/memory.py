"""`torch.accelerator.memory`: how much of the accelerator's memory is used."""

from __future__ import annotations

from .forwarding import accelerator, forwarded

__all__ = [
    "empty_cache", "empty_host_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]  # fmt: skip

get_memory_info, memory_stats = forwarded("get_memory_info", "mem_get_info"), forwarded("memory_stats")
memory_allocated, memory_reserved = forwarded("memory_allocated"), forwarded("memory_reserved")
max_memory_allocated, max_memory_reserved = forwarded("max_memory_allocated"), forwarded("max_memory_reserved")
reset_accumulated_memory_stats = forwarded("reset_accumulated_memory_stats")
reset_peak_memory_stats = forwarded("reset_peak_memory_stats")


def empty_cache() -> None:
    accelerator().empty_cache()


def empty_host_cache() -> None:
    accelerator()
