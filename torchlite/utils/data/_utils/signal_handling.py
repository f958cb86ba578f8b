"""What becomes known of workers that died."""

from __future__ import annotations

import os
import signal
import threading
from operator import index
from typing import Any

_workers: dict[int, tuple[int, ...]] = {}  # their processes, by who started them
_SIGCHLD_handler_set = False


def _set_worker_pids(loader: int, child_pids: tuple[int, ...], /) -> None:
    """Look after these workers of an iterator of a DataLoader."""
    if loader in _workers:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    if not isinstance(child_pids, tuple):
        raise TypeError(f"_set_worker_pids expects a tuple for child_pids, but got {type(child_pids).__name__}.")
    _workers[loader] = tuple(map(index, child_pids))


def _remove_worker_pids(loader: int, /) -> None:
    """Look after its workers no longer."""
    if loader not in _workers:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {loader}")
    del _workers[loader]


def _error_if_any_worker_fails() -> None:
    """Raise if a worker was killed, or ended with an error. Each iterator of a DataLoader is told of once."""
    for loader, pids in _workers.items():
        for pid in pids:
            failure = _failure(pid)
            if failure is not None:
                _workers[loader] = ()
                raise RuntimeError(failure)


def _failure(pid: int) -> str | None:
    """How a worker failed, which others may ask as well."""
    try:
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    if end is None or (end.si_code == os.CLD_EXITED and end.si_status == 0):
        return None
    if end.si_code == os.CLD_EXITED:
        return (
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {end.si_status}. Details are lost due "
            "to multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )
    return f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(end.si_status)}. "


def _set_SIGCHLD_handler() -> None:
    """Have the main thread raise when a worker that is looked after has failed."""
    global _SIGCHLD_handler_set
    if _SIGCHLD_handler_set or not hasattr(signal, "SIGCHLD"):
        return
    if threading.current_thread() is not threading.main_thread():
        return
    before: Any = signal.getsignal(signal.SIGCHLD)

    def handler(number: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _SIGCHLD_handler_set = True


def _set_worker_signal_handlers() -> None:
    """Let this process, a worker, end when it is told to, whatever the one that started it does then."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
