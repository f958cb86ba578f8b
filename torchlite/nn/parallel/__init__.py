"""`torch.nn.parallel`: one model on several devices."""

from __future__ import annotations

import importlib
from typing import Any

from ...absent import explanation
from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("DistributedDataParallel", "distributed"):  # with what it needs of torch.distributed
        home = importlib.import_module(f"{__name__}.distributed")
        return home if name == "distributed" else home.DistributedDataParallel
    raise AttributeError(explanation(f"torch.nn.parallel.{name}"))
