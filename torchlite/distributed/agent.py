"""Starting the processes of this host from a program: `elastic_launch(config, function)(*args)`."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.values import shown_in
from .guard import die_with_parent
from .launching import Attempt, Plan, ProcessFailure, launch, record

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@shown_in("torch.distributed.launcher.api")
@dataclass
class LaunchConfig:
    """How many processes are started, how often again, and where those of several hosts meet."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None


class _Process:
    """A process that runs a function, with the methods of one that runs a command."""

    stdout = stderr = None

    def __init__(self, process: Any) -> None:
        self._process = process
        process.start()
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()


def _call(
    entry: Callable[..., Any], args: Sequence[Any], environment: dict[str, str], file: str, own_parent: bool
) -> None:
    if own_parent and sys.platform == "linux":
        die_with_parent()
    os.environ.update(environment)
    result = record(entry)(*args)
    Path(file).write_bytes(pickle.dumps(result))


class _Functions(Attempt):
    """Processes that call a function, and what it returned in each."""

    def __init__(self, method: str, entry: Callable[..., Any], args: Sequence[Any], *plan: Any) -> None:
        self._context, self._entry, self._args = multiprocessing.get_context(method), entry, args
        self.results: dict[int, Any] = {}
        super().__init__(*plan)

    def _start(self, local: int, number: int) -> Any:
        texts, mine = self._texts(local), self._context.get_start_method() != "forkserver"
        what = (self._entry, self._args, texts, self._result_file(local), mine)
        return _Process(self._context.Process(target=_call, args=what))  # type: ignore[attr-defined]

    def _result_file(self, local: int) -> str:
        return f"{self.folder}/{local}.result"

    def wait(self) -> dict[int, ProcessFailure]:
        failures = super().wait()
        if not failures:
            for local in range(self.plan.count):
                self.results[self.plan.ranks[local]] = pickle.loads(Path(self._result_file(local)).read_bytes())
        return failures


def _number(config: LaunchConfig) -> int | None:
    """Which of the hosts this is, if that is said beforehand."""
    if config.max_nodes == 1:
        return 0
    return int(config.rdzv_configs.get("rank", 0)) if config.rdzv_backend == "static" else None


@shown_in("torch.distributed.launcher.api")
class elastic_launch:
    """What, when called, calls a function in several processes and gives what it returned, by rank.

    A text in place of a function is a command, whose arguments are those of the call; it returns nothing.
    """

    def __init__(
        self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, health_check_server: Any = None
    ) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


@shown_in("torch.distributed.launcher.api")
def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any], health_check_server: Any = None
) -> dict[int, Any]:
    """Call a function in several processes; what it returned, by rank. Where one fails, ChildFailedError."""
    if entrypoint is None:
        raise ValueError("elastic_launch needs a function or a command to start")
    host, _, port = config.rdzv_endpoint.partition(":")
    several = config.max_nodes > 1
    plan = Plan(
        [entrypoint, *map(str, args)] if isinstance(entrypoint, str) else [], config.nproc_per_node,
        entrypoint if isinstance(entrypoint, str) else getattr(entrypoint, "__qualname__", repr(entrypoint)),
        config.max_nodes, _number(config), host if several else "localhost",
        int(port or 0) if several else 0, config.run_id or "none", config.role, config.max_restarts,
        config.monitor_interval, 30.0 if config.shutdown_timeout is None else config.shutdown_timeout,
    )  # fmt: skip
    signals = config.signals_to_handle.split(",")
    if isinstance(entrypoint, str):
        return dict.fromkeys(launch(plan, signals).plan.ranks)
    ended = launch(plan, signals, lambda *about: _Functions(config.start_method, entrypoint, args, *about))
    assert isinstance(ended, _Functions)
    return ended.results
