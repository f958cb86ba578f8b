"""What modules of devices and libraries answer where there are none."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

from ..core.values import DeviceLike

trace_log = logging.getLogger("torch.__trace")  # in which nothing is written


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def version() -> int | None:
    return None


def memory_allocated(device: DeviceLike = None) -> int:
    return 0


def amp_definitely_not_available() -> bool:
    """Whether there is no device on which CUDA's autocast could do anything."""
    from ..cuda import is_available

    return not is_available()


def empty_cache() -> None:
    pass


def manual_seed(seed: int) -> None:
    pass


def is_acceptable(tensor: Any) -> bool:
    """Whether a library would compute with a tensor."""
    return False


class _Languages:
    """Languages of their own that kernels are written in."""

    def is_dsl_available(self, dsl_name: str) -> bool:
        return False


dsl_registry = _Languages()


def open_source_signpost(**report: Any) -> None:
    """Where PyTorch's makers send reports of their test runs: nothing is sent."""


# ---- Intel's devices


def no_xpu(*_: Any) -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


# ---- Apple's devices


def is_macos_or_newer(major: int, minor: int) -> bool:
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    return False


def get_name() -> str:
    return ""


def mps_empty_cache() -> NoReturn:
    raise RuntimeError("Cannot execute emptyCache() without MPS backend.")


def mps_synchronize() -> NoReturn:
    raise RuntimeError("Cannot execute deviceSynchronize() without MPS backend.")
