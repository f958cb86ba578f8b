"""Whether this process was started by mpiexec, and what MPI then says of it."""

from __future__ import annotations

import importlib.util
import os
import socket
from datetime import timedelta
from typing import Any, NamedTuple

from ..stores import TCPStore

# What the launchers of MPICH, Intel MPI and Cray MPI, of Open MPI, and of Slurm with PMIx set.
_SIGNS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")


# What torchrun sets, by what the launchers of MPICH and of Open MPI call it.
_WORDS = {
    "RANK": ("PMI_RANK", "OMPI_COMM_WORLD_RANK"),
    "WORLD_SIZE": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"),
    "LOCAL_RANK": ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "LOCAL_WORLD_SIZE": ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"),
}


def tell_as_torchrun() -> None:
    """Let programs that ask the environment for LOCAL_RANK and its kin find them under mpiexec too."""
    for word, names in _WORDS.items():
        said = next((os.environ[name] for name in names if name in os.environ), None)
        if said is not None:
            os.environ.setdefault(word, said)


class Started(NamedTuple):
    rank: int
    size: int


def available() -> bool:
    """Whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def by_mpi() -> Started | None:
    """The rank of this process and how many there are, if mpiexec started it and mpi4py is installed."""
    if not any(sign in os.environ for sign in _SIGNS) or not available():
        return None
    world = mpi().COMM_WORLD
    return Started(world.rank, world.size)


def mpi() -> Any:
    """The MPI of mpi4py, which starts it when it is first imported."""
    from mpi4py import MPI

    return MPI


def store(comm: Any, timeout: timedelta) -> TCPStore:
    """A store that the first process keeps, whose address MPI brings to the others."""
    made = TCPStore("localhost", 0, None, True, timeout) if comm.rank == 0 else None
    host, port = comm.bcast((socket.gethostname(), made.port) if made else None)
    alone = all(name == host for name in comm.allgather(socket.gethostname()))
    return made or TCPStore("localhost" if alone else host, port, None, False, timeout)
