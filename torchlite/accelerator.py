"""`torch.accelerator`: the device beside the CPU, whichever there is; here, CUDA's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from . import cuda
from .core.values.arrays import DeviceLike
from .core.values.device import device as Device

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Its type, if there is one."""
    return Device("cuda") if is_available() else None


def _needed() -> Any:
    """What to ask, where there is one."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def current_device_index() -> int:
    return _needed().current_device()


def set_device_index(device: DeviceLike) -> None:
    _needed().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def device_index(device: int | None) -> Any:
    """A `with` inside which this is the current one."""
    return nullcontext() if device is None else cuda.device(device)


def get_device_capability(device: DeviceLike = None) -> dict[str, Any]:
    """The dtypes that it can compute in."""
    from .core.values import dtype as dt

    _needed()
    return {"supported_dtypes": set(dt.DTYPES)}


def _of_cuda(name: str, there: str = "") -> Callable[..., Any]:
    """The function of `torch.cuda` with this name, or another, asked of a device that must be there."""

    def asked(device: DeviceLike = None) -> Any:
        return getattr(_needed(), there or name)(device)

    asked.__name__ = asked.__qualname__ = name
    return asked


current_stream, synchronize = _of_cuda("current_stream"), _of_cuda("synchronize")
get_memory_info, memory_stats = _of_cuda("get_memory_info", "mem_get_info"), _of_cuda("memory_stats")
memory_allocated, memory_reserved = _of_cuda("memory_allocated"), _of_cuda("memory_reserved")
max_memory_allocated, max_memory_reserved = _of_cuda("max_memory_allocated"), _of_cuda("max_memory_reserved")
reset_accumulated_memory_stats = _of_cuda("reset_accumulated_memory_stats")
reset_peak_memory_stats = _of_cuda("reset_peak_memory_stats")


def set_stream(stream: Any) -> None:
    _needed().set_stream(stream)


def empty_cache() -> None:
    _needed().empty_cache()


def empty_host_cache() -> None:
    _needed()
