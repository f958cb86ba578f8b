"""`torch.distributed`: processes that work together, over shared memory, MPI or NCCL."""

from __future__ import annotations

from types import FunctionType

from ..absent import placeholder
from ..faces import later
from . import collectives, errors, group_methods, messages, objects, options, shrinking, stores, work, world
from .buckets import _DEFAULT_FIRST_BUCKET_BYTES, GradBucket, _compute_bucket_assignment_by_size
from .buckets import BuiltinCommHookType as BuiltinCommHookType
from .coalescing import _coalescing_manager, _CoalescingManager
from .collectives import *
from .collectives import _all_gather_base, _get_global_rank, _reduce_scatter_base
from .debugging import breakpoint as breakpoint
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import *
from .messages import *
from .objects import *
from .options import *
from .process_group import ProcessGroup
from .recording import record_comm
from .reduction import ReduceOp, _reduce_op, supports_complex
from .reduction import make_premul_sum as _make_nccl_premul_sum
from .rendezvous import register_rendezvous_handler, rendezvous
from .shrinking import *
from .stores import *
from .utils import _broadcast_coalesced
from .work import Work
from .world import *
from .world import (
    _get_default_group,
    _get_default_store,
    _get_process_group_name,
    _rank_not_in_group,
    _resolve_process_group,
    _world,
)

ProcessGroupGloo = placeholder("torch.distributed", "ProcessGroupGloo")
reduce_op = _reduce_op()
_Work = Work
__all__ = [
    "BuiltinCommHookType", "ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work", "record_comm", "reduce_op",
    "register_rendezvous_handler", "rendezvous", "supports_complex", *collectives.__all__, *errors.__all__,
    *messages.__all__, *objects.__all__, *options.__all__, *shrinking.__all__, *stores.__all__, *world.__all__,
]  # fmt: skip
for _room in (collectives, messages, objects, options, shrinking, world):  # where PyTorch has what they define
    for _name in _room.__all__:
        if isinstance(vars(_room)[_name], FunctionType):
            vars(_room)[_name].__module__ = f"{__name__}.distributed_c10d"
supports_complex.__module__, world.is_available.__module__ = f"{__name__}.distributed_c10d", __name__
__getattr__ = later(
    __name__, "_functional_collectives", "_shard", "algorithms", "checkpoint", "fsdp", "launch", "nn", "optim", "run",
    "tensor", "utils",
)  # fmt: skip
