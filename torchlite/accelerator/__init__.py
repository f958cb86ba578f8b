"""`torch.accelerator`: the device beside the CPU, whichever there is; here, CUDA's."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .. import cuda
from ..core.values.arrays import DeviceLike
from ..core.values.device import device as Device
from .asked import needed, of_cuda
from .memory import *
from .memory import __all__ as _memory

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "get_device_capability", "is_available", "set_device_idx", "set_device_index", "set_stream",
    "synchronize", *_memory,
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


def current_device_index() -> int:
    return needed().current_device()


def set_device_index(device: DeviceLike) -> None:
    needed().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def device_index(device: int | None) -> Any:
    """A `with` inside which this is the current one."""
    return nullcontext() if device is None else cuda.device(device)


def get_device_capability(device: DeviceLike = None) -> dict[str, Any]:
    """The dtypes that it can compute in."""
    from ..core.values import dtype as dt

    needed()
    return {"supported_dtypes": set(dt.DTYPES)}


current_stream, synchronize = of_cuda("current_stream"), of_cuda("synchronize")


def set_stream(stream: Any) -> None:
    needed().set_stream(stream)
