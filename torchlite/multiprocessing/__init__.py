"""`torch.multiprocessing`: Python's multiprocessing, in which tensors travel as shared memory."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing import *

from . import reductions
from .reductions import init_reductions
from .spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies", *multiprocessing.__all__]


def get_all_sharing_strategies() -> set[str]:
    """The names of the ways in which other processes get at shared memory."""
    return set(reductions.STRATEGIES)


def get_sharing_strategy() -> str:
    """How memory travels between processes: "file_descriptor" or "file_system"."""
    return reductions.strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Let other processes get at shared memory by "file_descriptor", which takes one for every storage that is shared,
    or by name, "file_system"."""
    if new_strategy not in reductions.STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    reductions.strategy = new_strategy


def _set_thread_name(name: str, /) -> None:
    """Call this thread by a name."""
    threading.current_thread().name = name


def _get_thread_name() -> str:
    """The name of this thread."""
    return threading.current_thread().name
