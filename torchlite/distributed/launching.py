"""Starting the processes of one host, watching over them, and telling which of them failed."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

from ..core.values import bear_name
from .errors import DistNetworkError, DistStoreError
from .guard import die_with_parent, file_of, guarded
from .stores import PrefixStore, TCPStore

_HOME = "torch.distributed.elastic.multiprocessing.errors"
_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
_PATIENCE = timedelta(minutes=10)  # with launchers on other hosts


@dataclass
class Plan:
    """What is to be started on this host."""

    command: list[str]
    count: int
    name: str = "the program"
    nodes: int = 1
    node_rank: int | None = 0  # None: hosts are numbered as they come
    address: str = "localhost"
    port: int = 0
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1
    grace: float = 30.0
    by_mpi: bool = False
    log_dir: str | None = None
    redirects: dict[int, int] = field(default_factory=dict)  # by local rank: 1 for stdout, 2 for stderr, 3 for both
    tee: dict[int, int] = field(default_factory=dict)
    shown: set[int] | None = None  # local ranks whose output is shown; None: all
    environment: dict[str, str] = field(default_factory=dict)
    one_device_each: bool = False  # each sees its own device alone, as the first
    filters: dict[str, list[str]] = field(default_factory=dict)  # for stdout, stderr: which of its lines to keep apart
    ranks: range = range(0)  # of the processes on this host, when all hosts have met
    total: int = 0  # processes on all hosts


@dataclass
class ProcessFailure:
    """A process that failed: which one, how, and what it said."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    rank: int = 0
    timestamp: datetime = field(default_factory=datetime.now)

    @property
    def message(self) -> str:
        """What the process wrote of its error, if its main function is under `record`."""
        try:
            return json.loads(Path(self.error_file).read_text())["message"]["extraInfo"]["py_callstack"]
        except (OSError, ValueError, KeyError):
            return f"Signal {-self.exitcode} ({self.signal_name()})" if self.exitcode < 0 else "<N/A>"

    def signal_name(self) -> str:
        """The name of the signal that killed it."""
        with contextlib.suppress(ValueError):
            return signal.Signals(-self.exitcode).name
        return "<N/A>"

    def __str__(self) -> str:
        which = f"{self.rank} (local_rank: {self.local_rank})" if self.rank >= 0 else "one of those mpiexec started"
        return (
            f"  time      : {self.timestamp:%Y-%m-%d_%H:%M:%S}\n  host      : {socket.gethostname()}\n"
            f"  rank      : {which}\n"
            f"  exitcode  : {self.exitcode} (pid: {self.pid})\n  traceback : {self.message}"
        )


class ChildFailedError(Exception):
    """One or several processes failed; the first is what it is about."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        rank, first = self.get_first_failure()
        others = [str(failure) for other, failure in failures.items() if other != rank]
        line = "=" * 60
        text = f"\n{line}\n{name} FAILED\n{'-' * 60}\nRoot Cause (first observed failure):\n{first}\n"
        super().__init__(text + "".join(f"{'-' * 60}\nOther failure:\n{each}\n" for each in others) + line)

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how."""
        rank = min(self.failures, key=lambda rank: self.failures[rank].timestamp)
        return rank, self.failures[rank]


for _cls in (ProcessFailure, ChildFailedError):
    bear_name(_cls, _HOME)


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The main function of a process, whose errors the launcher is told of."""

    @functools.wraps(fn)
    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except ChildFailedError:
            raise
        except Exception as error:
            if file := os.environ.get(_ERROR_FILE):
                about = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                said = f"{type(error).__name__}: {error}"
                Path(file).write_text(json.dumps({"message": {"message": said, "extraInfo": about}}))
            raise

    return told


def mpiexec() -> str | None:
    """The command that starts processes with MPI, if it and mpi4py are there: that beside Python, before others."""
    beside = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    return shutil.which("mpiexec", path=beside) if importlib.util.find_spec("mpi4py") else None


# ---- the processes of one attempt


class Attempt:
    """The processes that were started together."""

    def __init__(self, plan: Plan, number: int, folder: str) -> None:
        self.plan, self.folder = plan, folder
        self.threads: list[threading.Thread] = []
        self.files = contextlib.ExitStack()
        self.kept = {name: self._opened(number, f"filtered_{name}.log") for name in plan.filters}
        self.environments = [self._environment(local, number) for local in range(plan.count)]
        self.processes = [self._start(local, number) for local in range(1 if plan.by_mpi else plan.count)]

    def _environment(self, local: int, number: int) -> dict[str, Any]:
        plan = self.plan
        rank, size = plan.ranks[local], plan.total
        return {
            "RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": plan.count,
            "GROUP_RANK": plan.node_rank, "GROUP_WORLD_SIZE": plan.nodes, "ROLE_NAME": plan.role, "ROLE_RANK": rank,
            "ROLE_WORLD_SIZE": size, "MASTER_ADDR": plan.address, "MASTER_PORT": plan.port,
            "TORCHELASTIC_RUN_ID": plan.run_id, "TORCHELASTIC_RESTART_COUNT": number,
            "TORCHELASTIC_MAX_RESTARTS": plan.max_restarts, "TORCHELASTIC_USE_AGENT_STORE": True,
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
            _ERROR_FILE: self.error_file(local), **plan.environment,
        } | (_with_one_device(local) if plan.one_device_each else {})  # fmt: skip

    def error_file(self, local: int) -> str:
        return f"{self.folder}/{local}.json"

    def _start(self, local: int, number: int) -> subprocess.Popen[bytes]:
        command, environment = self._command(local), self._texts(local)
        if self.plan.by_mpi:
            command = self._with_mpi()
            environment = {}
        out, err = self._streams(local, number)
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=out, stderr=err,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )  # fmt: skip
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                self._copy(pipe, getattr(sys, name).buffer, local, number, name)
        return process

    def _command(self, local: int) -> list[str]:
        return [part.replace("${local_rank}", str(local)) for part in self.plan.command]

    def _texts(self, local: int) -> dict[str, str]:
        return {name: str(value) for name, value in self.environments[local].items()}

    def _with_mpi(self) -> list[str]:
        """One command line for all, in which each process has its own variables."""
        parts = []
        for local in range(self.plan.count):
            said = [f"{name}={value}" for name, value in self._texts(local).items()]
            parts += [":", "-n", "1", "env", *said, *guarded(self._command(local))]
        return [mpiexec() or "mpiexec", *parts[1:]]

    def _streams(self, local: int, number: int) -> tuple[Any, Any]:
        """Where a process's output goes: on, into a file, into both, or nowhere."""
        plan = self.plan
        where: list[Any] = []
        for bit, name in ((1, "stdout"), (2, "stderr")):
            if plan.shown is not None and local not in plan.shown:
                where.append(subprocess.DEVNULL)
            elif plan.tee.get(local, 0) & bit:
                where.append(subprocess.PIPE)
            elif plan.redirects.get(local, 0) & bit:
                where.append(self._log(local, number, name))
            else:
                where.append(None)
        return where[0], where[1]

    def _log(self, local: int, number: int, name: str) -> IO[bytes]:
        return self._opened(number, f"{local}/{name}.log")

    def _opened(self, number: int, name: str) -> IO[bytes]:
        path = Path(self.plan.log_dir or self.folder, self.plan.run_id, f"attempt_{number}", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.files.enter_context(open(path, "wb", buffering=0))

    def _copy(self, pipe: IO[bytes], shown: IO[bytes], local: int, number: int, name: str) -> None:
        log, prefix = self._log(local, number, name), f"[{self.plan.role}{local}]:".encode()
        wanted = [part.encode() for part in self.plan.filters.get(name, ())]

        def copy() -> None:
            for line in pipe:
                log.write(line)
                shown.write(prefix + line)
                shown.flush()
                if any(part in line for part in wanted):
                    self.kept[name].write(prefix + line)

        self.threads.append(threading.Thread(target=copy, daemon=True))
        self.threads[-1].start()

    def wait(self) -> dict[int, ProcessFailure]:
        """Wait until all have ended, or one has failed; who failed, by rank."""
        while True:
            codes = [process.poll() for process in self.processes]
            failed = {local: code for local, code in enumerate(codes) if code}
            if failed:
                return self._failures(failed)
            if all(code == 0 for code in codes):
                return {}
            time.sleep(self.plan.interval)

    def _failures(self, failed: dict[int, int]) -> dict[int, ProcessFailure]:
        if self.plan.by_mpi:  # what ended is mpiexec; of the processes, their guards wrote
            told = [local for local in range(self.plan.count) if file_of(self.error_file(local)).exists()]
            failures = [self._told_by_guard(local) for local in told]
            failures = failures or [ProcessFailure(-1, self.processes[0].pid, failed[0], self.error_file(-1), -1)]
        else:
            failures = [self._failure(local, self.processes[local].pid, code) for local, code in failed.items()]
        return {failure.rank: failure for failure in failures}

    def _told_by_guard(self, local: int) -> ProcessFailure:
        file = file_of(self.error_file(local))
        failure = self._failure(local, **json.loads(file.read_text()))
        return replace(failure, timestamp=datetime.fromtimestamp(file.stat().st_mtime))

    def _failure(self, local: int, pid: int, exitcode: int) -> ProcessFailure:
        return ProcessFailure(local, pid, exitcode, self.error_file(local), self.plan.ranks[local])

    def end(self, how: int = signal.SIGTERM) -> None:
        """Let nobody outlive the others."""
        alive = [process for process in self.processes if process.poll() is None]
        for process in alive:
            process.send_signal(how)
        deadline = time.monotonic() + self.plan.grace
        for process in alive:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self.threads:
            thread.join(10.0)  # what is left in its pipe
        self.files.close()


def _with_one_device(local: int) -> dict[str, Any]:
    """Of the devices that a launcher sees, one process sees its own."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return {"LOCAL_RANK": 0, "CUDA_VISIBLE_DEVICES": visible.split(",")[local] if visible else local}


# ---- launchers on several hosts


def _met(plan: Plan) -> tuple[Plan, TCPStore]:
    """When launchers on all hosts have met: what is to be started on this one, and the store where all meet."""
    store = _meeting_place(plan)
    if plan.nodes == 1:
        return replace(plan, port=store.port, ranks=range(plan.count), total=plan.count), store
    table = PrefixStore(f"hosts/{plan.run_id}", store)
    number = table.add("arrived", 1) - 1 if plan.node_rank is None else plan.node_rank
    table.set(str(number), str(plan.count))
    counts = [int(table.get(str(host))) for host in range(plan.nodes)]
    first = sum(counts[:number])
    return replace(plan, node_rank=number, ranks=range(first, first + plan.count), total=sum(counts)), store


def _meeting_place(plan: Plan) -> TCPStore:
    """The store of the first host's launcher; or of the first that came on the host that is named."""

    def store(own: bool) -> TCPStore:
        return TCPStore(plan.address, plan.port, None, own, _PATIENCE, wait_for_workers=False)

    if plan.node_rank is not None:
        return store(plan.node_rank == 0)
    try:
        return store(_is_here(plan.address))
    except DistNetworkError:
        return store(False)


def _is_here(host: str) -> bool:
    family, _, _, _, address = socket.getaddrinfo(host, None)[0]
    try:
        with socket.create_server(address[:2], family=family):
            return True
    except OSError:
        return False


def _leave(plan: Plan, store: TCPStore) -> None:
    """Go when all are through, who may need the store until then."""
    if plan.nodes > 1:
        with contextlib.suppress(DistStoreError, DistNetworkError):
            store.barrier(f"hosts/{plan.run_id}/done", plan.nodes, _PATIENCE)


# ---- all attempts


def launch(
    plan: Plan,
    signals: Sequence[str] = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"),
    start: Callable[[Plan, int, str], Attempt] = Attempt,
) -> Attempt:
    """Start the processes, and once more as often as allowed when one fails; then ChildFailedError.

    What is returned are those that ended well.
    """
    with tempfile.TemporaryDirectory(prefix="torchelastic_") as folder, _forwarding(signals) as current:
        plan, store = _met(plan)
        for number in range(plan.max_restarts + 1):
            place = f"{folder}/{number}"
            os.mkdir(place)
            attempt = start(plan, number, place)
            current.append(attempt)
            try:
                failures = attempt.wait()
            finally:
                attempt.end()
            if not failures:
                _leave(plan, store)
                return attempt
            if number < plan.max_restarts:
                who = "mpiexec" if -1 in failures else f"rank {', '.join(map(str, failures))}"
                print(f"{who} failed; starting all again ({number + 1}/{plan.max_restarts})", file=sys.stderr)
        raise ChildFailedError(plan.name, failures)


@contextlib.contextmanager
def _forwarding(names: Sequence[str]) -> Iterator[list[Attempt]]:
    """Hand signals on to the processes, and end with them."""
    current: list[Attempt] = []

    def forward(number: int, _: Any) -> None:
        if current:
            current[-1].end(number)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield current
        return
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names if hasattr(signal, name)}
    for number in before:
        signal.signal(number, forward)
    try:
        yield current
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
