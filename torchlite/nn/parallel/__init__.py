"""`torch.nn.parallel`: one model on several devices."""

from __future__ import annotations

from ...absent import lacking, listing
from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel",
]  # fmt: skip

# What it needs of torch.distributed is loaded with it.
_HOME = {"DistributedDataParallel": "distributed"}
__getattr__ = lacking(__name__, ("distributed",), _HOME)
__dir__ = listing(__name__, {"distributed", *_HOME})
