"""How CUDA is taken into use, which CuPy does by itself at the first need, and a kernel that waits."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .._utils import _get_device_index
from . import _needed, init, is_initialized

__all__ = ["_get_device_index", "_is_in_bad_fork", "_lazy_call", "_lazy_init", "_sleep"]

_lazy_init = init


def _lazy_call(callable: Callable[[], Any], **_: Any) -> None:
    """Call what is to be called once CUDA is in use: at once where there are devices, never where there are none."""
    if is_initialized():
        callable()


def _is_in_bad_fork() -> bool:
    """Whether this process was forked off one that used CUDA, and so cannot use it."""
    backend = sys.modules.get("torchlite.backends.cupy")
    return backend is not None and os.getpid() != backend.PROCESS


@functools.cache
def _waiting() -> Any:
    import cupy

    body = "long long begun = clock64(); while (clock64() - begun < cycles) {}"
    return cupy.RawKernel(f'extern "C" __global__ void wait(long long cycles) {{ {body} }}', "wait")


def _sleep(cycles: int) -> None:
    """Keep the device busy for so many of its cycles."""
    _needed()
    _waiting()((1,), (1,), (cycles,))
