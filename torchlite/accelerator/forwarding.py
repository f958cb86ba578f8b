"""What is asked of the accelerator, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import cuda
from ..core.values.arrays import DeviceLike


def needed() -> Any:
    """What to ask."""
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def of_cuda(name: str, there: str = "") -> Callable[..., Any]:
    """The function of `torch.cuda` with this name, or another, asked of a device that must be there."""

    def asked(device: DeviceLike = None) -> Any:
        return getattr(needed(), there or name)(device)

    asked.__name__ = asked.__qualname__ = name
    return asked
