"""`torch._check` and its kin, by which functions refuse arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core.machine import Tensor
from .core.values import bool_, warn

_Said = Callable[[], Any] | None
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Refuse a tensor of one element that is zero."""
    if not input:
        raise RuntimeError(assert_msg)


def _check_with(error_type: type[Exception], cond: bool, message: _Said) -> None:
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
                "that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception):
        raise AssertionError(f"error_type must be an Exception subclass, got {error_type}")
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_UNSAID if message is None else str(message()))


def _check(cond: bool, message: _Said = None) -> None:
    """Raise RuntimeError with what `message()` gives, unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: _Said = None) -> None:
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: _Said = None) -> None:
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: _Said = None) -> None:
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: _Said = None) -> None:
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: _Said = None, *, max: int | None = None) -> None:
    """Refuse a number that is no size."""
    warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious. "
        "    Use _check(i >= 0) instead.",
        FutureWarning,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: _Said = None) -> None:
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: _Said = None) -> None:
    """Raise RuntimeError unless all elements are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
