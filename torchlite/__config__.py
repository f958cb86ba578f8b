"""`torch.__config__`: what computes, in which versions and how many threads."""

from __future__ import annotations

import numpy as np

from .cpu import _get_cpu_capability
from .settings import get_num_interop_threads, get_num_threads
from .torch_version import __version__


def show() -> str:
    """The versions of what this is built on."""
    return (
        f"torchlite standing in for PyTorch {__version__}, built with:\n"
        f"  - NumPy {np.__version__}\n  - CPU capability usage: {_get_cpu_capability()}\n"
    )


def parallel_info() -> str:
    """How many threads compute."""
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
