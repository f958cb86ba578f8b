"""What moves numbers between processes: shared memory on one host, MPI, NCCL."""

from __future__ import annotations

from collections.abc import Sequence

from ..stores import Store
from . import launched
from .base import Engine


def available(name: str) -> bool:
    """Whether there is what a backend's name stands for."""
    if name == "gloo":
        return True
    if name == "mpi":
        return launched.available()
    if name == "nccl":
        from .nccl import available

        return available()
    return False


def connect(name: str, store: Store, rank: int, ranks: Sequence[int], timeout: float) -> Engine:
    """This process's end of what connects those of a group; `ranks` are their numbers among all there are."""
    if name == "nccl":
        from .nccl import NCCL

        return NCCL(store, rank, ranks, timeout)
    if launched.by_mpi():
        from .mpi import MessagePassing

        return MessagePassing(rank, ranks, timeout)
    from .shared import SharedMemory

    return SharedMemory(store, rank, ranks, timeout)
