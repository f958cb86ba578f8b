"""`torch._refs`: PyTorch's functions again, written in others. Here each function is its own reference."""

from __future__ import annotations

from typing import Any

from ..faces import later
from . import _conversions

_rooms = later(__name__)


def __getattr__(name: str) -> Any:
    """A function, or one of the modules for others."""
    return getattr(_conversions, name, None) or _rooms(name)
