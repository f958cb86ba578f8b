"""Hooks on tensors, as a step of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor

__all__ = ["register_hook_op"]


def register_hook_op(x: Tensor, hook: Callable[..., Any]) -> Tensor:
    """The tensor itself, whose gradient `hook` gets to see."""
    x.register_hook(hook)
    return x
