"""`torch.distributed.fsdp`: modules whose parameters are shared out among processes."""

from ...absent import placeholders
from ...core.values.pickling import live_here
from ...faces import later
from . import api, composable, policies
from .api import *
from .composable import *
from .fully_sharded_data_parallel import FullyShardedDataParallel
from .optimizer_state import OptimStateKeyType
from .policies import *

_ABSENT = ("DataParallelMeshDims",)
globals().update(placeholders("torch.distributed.fsdp", " ".join(_ABSENT)))
__all__ = [
    "FullyShardedDataParallel", "OptimStateKeyType", *api.__all__, *composable.__all__, *policies.__all__, *_ABSENT,
]  # fmt: skip

live_here(globals())
__getattr__ = later(__name__)
