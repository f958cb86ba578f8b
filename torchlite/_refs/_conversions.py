"""`torch._refs._conversions`: what changes a dtype, as functions."""

from __future__ import annotations

from typing import Any

from ..absent import explanation
from ..core.machine import Tensor, functions
from ..ops import aten


def __getattr__(name: str) -> Any:
    """A function of torch or of aten, or a method as a function."""
    found = functions.get(name) or getattr(Tensor, name, None) or getattr(aten, name, None)
    if found is None or name.startswith("__"):
        raise AttributeError(explanation(f"torch._refs.{name}"), name=name)
    return found
