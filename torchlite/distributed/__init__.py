"""`torch.distributed` as in a PyTorch built without it: there are no process groups, and every question says so."""

from __future__ import annotations

import datetime
import enum
import os
from typing import Any, ClassVar, NoReturn

from ..absent import placeholder
from ..faces import later

_ABSENT = (
    "AllToAllOptions AllreduceOptions BackendConfig BarrierOptions BroadcastOptions DebugLevel DistBackendError "
    "DistError DistNetworkError DistStoreError FileStore GatherOptions HashStore P2POp PrefixStore ProcessGroupGloo "
    "ReduceOptions ScatterOptions Store TCPStore Work"
)
globals().update({name: placeholder("torch.distributed", name) for name in _ABSENT.split()})
_OF_GROUPS = (
    "all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce all_reduce_coalesced "
    "all_to_all all_to_all_single barrier batch_isend_irecv broadcast broadcast_object_list destroy_process_group "
    "gather gather_object get_backend get_backend_config get_default_backend_for_device get_global_rank get_group_rank "
    "get_process_group_ranks get_rank get_world_size irecv isend monitored_barrier new_group new_subgroups "
    "new_subgroups_by_enumeration recv recv_object_list reduce reduce_scatter reduce_scatter_tensor scatter "
    "scatter_object_list send send_object_list"
)
__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "ReduceOp", "get_debug_level", "get_node_local_rank", "group",
    "init_process_group", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    *_ABSENT.split(), *_OF_GROUPS.split(),
]  # fmt: skip

default_pg_timeout = datetime.timedelta(minutes=30)


class ProcessGroup:
    """A class that nothing is an instance of."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        init_process_group()


class group:
    """The groups that there always are: none."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """Who is in a group: nobody."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Reduction(enum.IntEnum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class ReduceOp:
    """How the tensors of several processes become one."""

    RedOpType = _Reduction
    SUM, AVG, PRODUCT, MIN, MAX = _Reduction.SUM, _Reduction.AVG, _Reduction.PRODUCT, _Reduction.MIN, _Reduction.MAX
    BAND, BOR, BXOR, PREMUL_SUM = _Reduction.BAND, _Reduction.BOR, _Reduction.BXOR, _Reduction.PREMUL_SUM


class Backend(str):
    """The name of what processes talk by."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        return str(name).lower()


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """What a launcher wrote into the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return fallback_rank
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("torchlite has no torch.distributed: is_available() is False, and a process works by itself")


def get_debug_level() -> NoReturn:
    init_process_group()


def _get_default_group(*args: Any, **kwargs: Any) -> NoReturn:
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


globals().update(dict.fromkeys(_OF_GROUPS.split(), _get_default_group))
__getattr__ = later(__name__)
