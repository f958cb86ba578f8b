"""Page-locked memory for batches, from which an accelerator can be fed while it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....core.machine import Tensor
from ....core.values import DeviceLike
from .collate import converted


def pin_memory(data: Any, device: DeviceLike = None) -> Any:
    """A batch whose tensors, and objects with a method `pin_memory`, lie in page-locked memory."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, (Mapping, Sequence)):
        made = converted(data, pin_memory)
        return tuple(made) if type(data) is tuple else made
    return data.pin_memory() if hasattr(data, "pin_memory") else data
