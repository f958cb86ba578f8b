"""`torch.distributed.fsdp`: modules whose parameters are shared out among processes."""

from __future__ import annotations

from ...absent import placeholders
from ...faces import later
from . import api
from .api import *
from .fully_sharded_data_parallel import FullyShardedDataParallel

_ABSENT = (
    "CPUOffloadPolicy DataParallelMeshDims FSDPModule MixedPrecisionPolicy OffloadPolicy OptimStateKeyType "
    "UnshardHandle fully_shard register_fsdp_forward_method share_comm_ctx"
)
globals().update(placeholders("torch.distributed.fsdp", _ABSENT))
__all__ = ["FullyShardedDataParallel", *api.__all__, *_ABSENT.split()]

__getattr__ = later(__name__)
