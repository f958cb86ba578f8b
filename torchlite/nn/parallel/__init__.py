"""`torch.nn.parallel`: one model on several devices."""

from __future__ import annotations

from ...absent import loading
from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel",
]  # fmt: skip

# What it needs of torch.distributed is loaded with it.
_HOME = {"DistributedDataParallel": "distributed"}
__getattr__, __dir__ = loading(__name__, ("distributed",), _HOME)
