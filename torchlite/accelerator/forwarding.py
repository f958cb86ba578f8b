"""`torch.accelerator` forwards to `torch.cuda`, and refuses calls where there is no GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import cuda
from ..core.values import DeviceLike


def accelerator() -> Any:
    """The namespace of the accelerator's functions, `torch.cuda`; an error without a GPU."""
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def forwarded(name: str, target: str = "") -> Callable[..., Any]:
    """A function of a device that calls the one of `torch.cuda` of the same name, or `target`."""

    def call(device: DeviceLike = None) -> Any:
        return getattr(accelerator(), target or name)(device)

    call.__name__ = call.__qualname__ = name
    return call
