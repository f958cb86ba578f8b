"""`torch.onnx.symbolic_helper`: how functions that an export would call get their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["parse_args"]

F = TypeVar("F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """The function as it is, since nobody calls it."""
    return lambda function: function
