"""`torch._tensor_str`: how tensors print, and the options that shape it."""

from __future__ import annotations

from typing import Any

from .core.machine import format as _format
from .core.machine.format import get_printoptions, printoptions, set_printoptions
from .core.machine.format import tensor_str as _str

__all__ = ["_str", "_tensor_str", "get_printoptions", "printoptions", "set_printoptions"]


def _tensor_str(self: Any, indent: int) -> str:
    """The values of a tensor, its lines indented."""
    return _format._contents(self, indent)


def __getattr__(name: str) -> Any:
    if name == "PRINT_OPTS":  # those in force
        return _format._options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
