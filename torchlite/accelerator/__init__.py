"""`torch.accelerator`: the device beside the CPU, whichever kind it is; here, CUDA's."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .. import cuda
from ..core.values import DeviceLike
from ..core.values.device import device as Device
from .forwarding import accelerator, forwarded
from .memory import *
from .memory import __all__ as _memory

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "get_device_capability", "is_available", "set_device_idx", "set_device_index", "set_stream",
    "synchronize", *_memory,
]  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """How many accelerators there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The type of the accelerator, if there is one."""
    return Device("cuda") if is_available() else None


def current_device_index() -> int:
    return accelerator().current_device()


def set_device_index(device: DeviceLike) -> None:
    accelerator().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def device_index(device: int | None) -> Any:
    """A `with` inside which this is the current device."""
    return nullcontext() if device is None else cuda.device(device)


def get_device_capability(device: DeviceLike = None) -> dict[str, Any]:
    """The dtypes that the accelerator can compute in."""
    from ..core.values import dtype as dt

    accelerator()
    return {"supported_dtypes": set(dt.DTYPES)}


current_stream, synchronize = forwarded("current_stream"), forwarded("synchronize")


def set_stream(stream: Any) -> None:
    accelerator().set_stream(stream)
