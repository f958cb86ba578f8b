"""`torch.cuda`'s memory: that of CuPy's pool.

What tensors hold is counted from the first call that resets a peak or asks for counts; before that, what the pool has
reserved stands for the most that they held.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NoReturn

from ..core.values import DeviceLike, warn
from . import _index, _needed, empty_cache, is_available, mem_get_info, memory_allocated, memory_reserved
from .pools import MemPool, use_mem_pool
from .unsupported import CUDAPluggableAllocator, change_current_allocator

__all__ = [
    "CUDAPluggableAllocator", "MemPool", "change_current_allocator", "use_mem_pool", "caching_allocator_alloc",
    "caching_allocator_delete", "caching_allocator_disabled", "caching_allocator_enable",
    "empty_cache", "get_allocator_backend", "get_per_process_memory_fraction", "host_memory_stats",
    "host_memory_stats_as_nested_dict", "list_gpu_processes", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot",
    "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_host_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip


def max_memory_reserved(device: DeviceLike = None) -> int:
    """The most bytes that were kept for tensors, since memory was last given back."""
    return memory_reserved(device)


def _ledger() -> Any:
    _needed()
    from ..backends.cupy_memory import ledger

    return ledger


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most bytes that tensors held since `reset_peak_memory_stats`, or can have held where that was not called."""
    if not is_available():
        return 0
    figures = _ledger().figures.get(_index(device))
    return memory_reserved(device) if figures is None else int(figures["allocated_bytes.all"].peak)


def _renamed(old: str, new: str) -> None:
    warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)


def memory_cached(device: DeviceLike = None) -> int:
    """The older name of `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike = None) -> int:
    """The older name of `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return memory_reserved(device)


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """What is known of the memory, by PyTorch's names."""
    if not is_available():
        return OrderedDict()
    ledger, index = _ledger(), _index(device)
    if index not in ledger.figures:
        ledger.begin(index)
    return OrderedDict(ledger.told(index))


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """`memory_stats`, a dict for each part of the names."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *way, last = name.split(".")
        place = nested
        for part in way:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    """`memory_stats` as a table of text."""
    _needed()
    return "\n".join(f"{name:32} {value:>16}" for name, value in memory_stats(device).items())


def host_memory_stats() -> dict[str, Any]:
    """Figures of the pinned memory of the host."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """`host_memory_stats`, a dict for each part of the names."""
    return {}


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Begin anew to look for the most that tensors hold."""
    _ledger().begin(_index(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    """Begin the sums of the device's memory anew."""
    _ledger().forget(_index(device))


def reset_peak_host_memory_stats() -> None:
    """Begin the figures of the host's pinned memory anew."""
    _needed()


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


def _resets(name: str) -> None:
    warn(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
    )


def reset_max_memory_allocated(device: DeviceLike = None) -> None:
    """The older form of `reset_peak_memory_stats`."""
    _resets("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: DeviceLike = None) -> None:
    """The older form of `reset_peak_memory_stats`."""
    _resets("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def get_allocator_backend() -> str:
    """The name of what allocates memory."""
    return "cupy"


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Use at most this part of a device's memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    import cupy

    with _needed().Device(_index(device)):
        cupy.get_default_memory_pool().set_limit(fraction=fraction)


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """What `set_per_process_memory_fraction` said; 1 if nothing was."""
    pool = _needed()
    import cupy

    with pool.Device(_index(device)):
        limit = cupy.get_default_memory_pool().get_limit()
    return limit / mem_get_info(device)[1] if limit else 1.0


def caching_allocator_enable(value: bool = True) -> None:
    """Whether memory that was given back is kept for further use."""
    if is_available():
        import cupy

        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc if value else None)


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Inside, memory that is given back goes to CUDA at once."""
    caching_allocator_enable(False)
    try:
        yield
    finally:
        caching_allocator_enable(True)


def _none(*_: Any, **__: Any) -> NoReturn:
    """Raises an error: memory is CuPy's."""
    raise NotImplementedError("torchlite leaves the memory of CUDA devices to CuPy: see cupy.cuda.MemoryPool")


caching_allocator_alloc = caching_allocator_delete = memory_snapshot = _none


def list_gpu_processes(device: DeviceLike = None) -> str:
    """The processes that use the device, as text."""
    return "pynvml module not found, please install nvidia-ml-py"
