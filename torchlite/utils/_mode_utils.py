"""`torch.utils._mode_utils`: a question about modes, and a context without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._python_dispatch import _DisableTorchDispatch as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether these are all the same one."""
    return all(mode is modes[0] for mode in modes)
