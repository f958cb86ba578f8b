"""Running one function in several processes, and learning of their failures."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from logging import getLogger
from typing import Any

from ..core.values import bear_name, spelled, warn

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "spawn", "start_processes",
]  # fmt: skip

_log = getLogger(__name__)


class ProcessException(Exception):
    """A process failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = pid

    def __reduce__(self) -> Any:
        return spelled(type(self)), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process failed with an exception, of which the message has the traceback."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process was killed, or exited with a code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return spelled(type(self)), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one of the processes ends, and say whether all have.

        If one has failed, the others are terminated (killed, if they last longer than `grace_period` or 30 seconds),
        and an exception tells of it.
        """
        if not self.sentinels:
            return True
        ended = [self.sentinels.pop(at) for at in multiprocessing.connection.wait(list(self.sentinels), timeout)]
        for index in ended:
            self.processes[index].join()
        failed = next((index for index in ended if self.processes[index].exitcode), None)
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        raise self._failure(failed)

    def _end_all(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                _log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        deadline = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                _log.warning("Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid)
                process.kill()
                process.join()

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        said = _taken(self.error_files[index])
        if said is not None:
            said = f"\n\n-- Process {index} terminated with the following error:\n{said}"
            return ProcessRaisedException(said, index, process.pid)
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        how = f"exit code {code}" if name is None else f"signal {name}"
        return ProcessExitedException(f"process {index} terminated with {how}", index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """A ProcessContext by its older name."""


def _taken(file: str) -> str | None:
    """The traceback that a failed process left, or None."""
    try:
        with open(file, "rb") as written:
            said = written.read()
    except FileNotFoundError:
        return None
    os.unlink(file)
    return pickle.loads(said) if said else None


def _end_with_parent() -> None:
    """From now on, this process is interrupted when the one that started it is gone."""

    def wait() -> None:
        parent.join()  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGINT)

    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=wait, daemon=True).start()


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    try:
        _end_with_parent()
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, or is gone
    except Exception:
        with open(error_file, "wb") as written:
            pickle.dump(traceback.format_exc(), written)
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Call `fn(index, *args)` in so many processes, each with its index.

    Without `join`, the ProcessContext is returned at once. Otherwise an exception is raised as soon as one fails.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        descriptor, file = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".pickle")
        os.close(descriptor)
        os.unlink(file)
        process = context.Process(target=_run, args=(fn, index, args, file), daemon=daemon)
        process.start()
        error_files.append(file)
        processes.append(process)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """`start_processes` with fresh Python processes."""
    if start_method != "spawn":
        warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


for _class in (ProcessException, ProcessRaisedException, ProcessExitedException, ProcessContext, SpawnContext):
    bear_name(_class, "torch.multiprocessing.spawn")
