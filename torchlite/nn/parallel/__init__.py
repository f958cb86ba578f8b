"""`torch.nn.parallel`: one model on several devices."""

from __future__ import annotations

from typing import Any

from ...absent import explanation
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(explanation(f"torch.nn.parallel.{name}"))
