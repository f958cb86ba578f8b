"""`torch.utils._mode_utils`: a question about modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["all_same_mode"]


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether these are all the same one."""
    return all(mode is modes[0] for mode in modes)
