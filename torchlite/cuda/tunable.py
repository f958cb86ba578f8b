"""`torch.cuda.tunable`: which of several kernels products take. cuBLAS chooses here, and nothing is tuned."""

from __future__ import annotations

from collections.abc import Callable

from .unsupported import lacking_function

_LACKING = (
    "get_filename", "get_max_tuning_duration", "get_max_tuning_iterations", "get_rotating_buffer_size",
    "mgpu_tune_gemm_in_file", "read_file", "set_filename", "set_max_tuning_duration", "set_max_tuning_iterations",
    "set_numerical_check_tolerances", "set_rotating_buffer_size", "tune_gemm_in_file",
)  # fmt: skip
__all__ = [
    "enable", "get_results", "get_validators", "is_enabled", "record_untuned_enable", "record_untuned_is_enabled",
    "tuning_enable", "tuning_is_enabled", *_LACKING,
]  # fmt: skip

_WHY = "cuBLAS chooses how it multiplies"


def _switch(name: str) -> Callable[..., None]:
    refuse = lacking_function(name, _WHY, "torch.cuda.tunable")

    def switch(val: bool = True) -> None:
        """Turn it off, which it is; it can't be turned on."""
        if val:
            refuse()

    switch.__name__ = switch.__qualname__ = name
    return switch


enable, tuning_enable, record_untuned_enable = map(_switch, ("enable", "tuning_enable", "record_untuned_enable"))


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


globals().update({name: lacking_function(name, _WHY, "torch.cuda.tunable") for name in _LACKING})
