"""`torch.cuda.tunable`: which of several kernels products take. cuBLAS chooses here, and nothing is tuned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .unsupported import lacking_functions

_SWITCHES = "enable record_untuned_enable tuning_enable"
_FILES = "get_filename mgpu_tune_gemm_in_file read_file set_filename tune_gemm_in_file"
_LIMITS = (
    "get_max_tuning_duration get_max_tuning_iterations get_rotating_buffer_size set_max_tuning_duration "
    "set_max_tuning_iterations set_numerical_check_tolerances set_rotating_buffer_size"
)


def _switch(name: str, refuse: Callable[[], None]) -> Callable[..., None]:
    def switch(val: bool = True) -> None:
        """Turn it off, which it is; it can't be turned on."""
        if val:
            refuse()

    switch.__name__ = switch.__qualname__ = name
    return switch


def is_enabled() -> bool:
    """Whether products are tuned, which they never are."""
    return False


def tuning_is_enabled() -> bool:
    """Whether it is tried which kernels are the fastest, which it never is."""
    return False


def record_untuned_is_enabled() -> bool:
    """Whether products are written down to be tuned later, which they never are."""
    return False


def get_results() -> tuple[()]:
    """What was found out: nothing."""
    return ()


def get_validators() -> tuple[()]:
    """On what it depends: on nothing."""
    return ()


def _refused(names: str) -> dict[str, Any]:
    return lacking_functions("torch.cuda.tunable", "cuBLAS chooses how it multiplies", names)


_NAMES = _refused(_FILES) | _refused(_LIMITS) | {n: _switch(n, refuse) for n, refuse in _refused(_SWITCHES).items()}
globals().update(_NAMES)
__all__ = [
    "get_results", "get_validators", "is_enabled", "record_untuned_is_enabled", "tuning_is_enabled", *_NAMES,
]  # fmt: skip
