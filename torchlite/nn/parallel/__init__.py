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

# What it needs of torch.distributed is loaded with it.
_HOME = {"DistributedDataParallel": "distributed"}


def __getattr__(name: str) -> Any:
    if name in ("distributed", *_HOME):
        home = importlib.import_module(f"{__name__}.distributed")
        return home if name == "distributed" else getattr(home, name)
    raise AttributeError(explanation(f"torch.nn.parallel.{name}"), name=name)
