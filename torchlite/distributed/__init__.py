"""`torch.distributed` as in a PyTorch built without it: there are no process groups, and every question says so."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "ProcessGroup", "group", "is_available", "is_initialized", "is_torchelastic_launched", "is_backend_available",
    "is_gloo_available", "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available",
    "init_process_group", "destroy_process_group", "new_group", "get_rank", "get_world_size", "get_backend", "barrier",
    "broadcast", "broadcast_object_list", "reduce", "reduce_scatter", "all_reduce", "all_gather", "all_gather_object",
    "gather", "scatter", "send", "recv",
]  # fmt: skip


class ProcessGroup:
    """A class that nothing is an instance of."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        init_process_group()


class group:
    """The groups that there always are: none."""

    WORLD: ProcessGroup | None = None


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("torchlite has no torch.distributed: is_available() is False, and a process works by itself")


def get_rank(*args: Any, **kwargs: Any) -> NoReturn:
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


get_world_size = get_backend = new_group = destroy_process_group = barrier = get_rank
broadcast = broadcast_object_list = reduce = reduce_scatter = all_reduce = get_rank
all_gather = all_gather_object = gather = scatter = send = recv = get_rank
