"""`torch.utils._device`: a device for the tensors that are made, as a context or a decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.machine import functions
from ..core.state import Context, State, local
from ..core.values import DeviceLike
from ..core.values.device import device as Device
from ._contextlib import context_decorator

__all__ = ["DeviceContext", "device_decorator", "set_device"]

_CONSTRUCTORS = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_strided eye full hamming_window
    hann_window kaiser_window linspace logspace ones rand randint randn randperm range scalar_tensor tensor tril_indices
    triu_indices zeros
"""


def __getattr__(name: str) -> Any:
    if name == "CURRENT_DEVICE":
        return local.state.default_device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _device_constructors() -> set[Callable[..., Any]]:
    """The functions that make tensors on the device of the context, unless told another."""
    return {functions[name] for name in _CONSTRUCTORS.split() if name in functions}


class DeviceContext(Context):
    """What `with torch.device(...)` does, for a device given in any form."""

    def __init__(self, device: DeviceLike) -> None:
        self.device = Device(device)

    def _take(self, state: State) -> Device | None:
        return state.default_device

    def _set(self, state: State, kept: Device | None) -> DeviceContext:
        state.default_device = self.device
        return self

    def _put(self, state: State, kept: Device | None) -> None:
        state.default_device = kept


def device_decorator(device: DeviceLike, func: Callable[..., Any]) -> Any:
    """`func`, with `device` the one on which it makes tensors."""
    return context_decorator(device, func)  # type: ignore[arg-type]


def set_device(device: DeviceLike) -> Callable[[Any], Any]:
    """Decorates functions: they make tensors on `device`, unless they say otherwise."""
    return functools.partial(device_decorator, Device(device))
