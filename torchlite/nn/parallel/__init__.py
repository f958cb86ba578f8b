"""`torch.nn.parallel`: one model on several devices."""

from __future__ import annotations

from typing import Any

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.nn.parallel.{name} yet (docs/coverage.md lists what there is)")
