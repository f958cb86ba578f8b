"""`torch.accelerator`: the device beside the CPU, whichever there is; here, CUDA's."""

from __future__ import annotations

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


def current_stream(device: DeviceLike = None) -> Any:
    return _needed().current_stream(device)


def set_stream(stream: Any) -> None:
    _needed().set_stream(stream)


def synchronize(device: DeviceLike = None) -> None:
    _needed().synchronize(device)


def empty_cache() -> None:
    _needed().empty_cache()


def empty_host_cache() -> None:
    _needed()


def get_memory_info(device: DeviceLike = None) -> tuple[int, int]:
    return _needed().mem_get_info(device)


def memory_allocated(device: DeviceLike = None) -> int:
    return _needed().memory_allocated(device)


def memory_reserved(device: DeviceLike = None) -> int:
    return _needed().memory_reserved(device)


def max_memory_allocated(device: DeviceLike = None) -> int:
    return _needed().max_memory_allocated(device)


def max_memory_reserved(device: DeviceLike = None) -> int:
    return _needed().max_memory_reserved(device)


def memory_stats(device: DeviceLike = None) -> Any:
    return _needed().memory_stats(device)


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    _needed().reset_accumulated_memory_stats(device)


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    _needed().reset_peak_memory_stats(device)
