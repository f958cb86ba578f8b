"""What `torch._C` tells of the memory of tensors and of what is on, and the warnings by which warnings are tested."""

from __future__ import annotations

from ..core.machine import Tensor
from ..core.values import warn
from ..settings import are_deterministic_algorithms_enabled as _get_deterministic_algorithms
from ..settings import is_warn_always_enabled as _get_warnAlways
from ..utils._python_dispatch import _get_current_dispatch_mode_stack

__all__ = [
    "_get_deterministic_algorithms", "_get_warnAlways", "_is_alias_of", "_len_torch_dispatch_stack", "_overlaps",
    "_warn", "_warn_deprecation",
]  # fmt: skip


def _is_alias_of(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors show one storage."""
    return input.untyped_storage()._cdata == other.untyped_storage()._cdata


def _overlaps(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors show one storage, whatever they show of it."""
    return _is_alias_of(input, other)


def _len_torch_dispatch_stack() -> int:
    return len(_get_current_dispatch_mode_stack())


def _warn() -> None:
    warn("Test message for TORCH_WARN")


def _warn_deprecation() -> None:
    warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning)
