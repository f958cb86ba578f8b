"""Worker processes for tasks that may crash or hang: each costs its own task only, and is replaced."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch

from .library import Library
from .process import HASH_SEED
from .result import Result, Task
from .run import run

_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_CONTEXT = multiprocessing.get_context(_METHOD)
_CONTEXT.set_forkserver_preload(["compat_tests.parity.run"])
_START_TIMEOUT = 120.0
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **HASH_SEED}


@dataclass(frozen=True)
class Settings:
    """What every worker needs to know. ``setup`` is a module to import first (one that registers a backend, say)."""

    module: str = "torchlite"
    backend: str | None = None
    setup: str | None = None
    limit: int | None = None
    timeout: float = 60.0


def reference_library() -> Library:
    """Real torch, made ready for comparisons."""
    torch.set_num_threads(1)
    torch.set_warn_always(True)
    return Library(torch, native=True)


def subject_library(settings: Settings) -> Library:
    """The library under test."""
    if settings.setup:
        importlib.import_module(settings.setup)
    return Library(settings.module, settings.backend)


class Pool:
    """Runs tasks in ``workers`` processes; a context manager."""

    def __init__(self, settings: Settings, workers: int) -> None:
        for variable, value in _ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        self.settings = settings
        self._threads = ThreadPoolExecutor(workers, "parity")
        self._local = threading.local()
        self._workers: list[_Worker] = []

    def submit(self, task: Task) -> Future[Result]:
        return self._threads.submit(self._run, task)

    def _run(self, task: Task) -> Result:
        if not hasattr(self._local, "worker"):
            self._local.worker = _Worker(self.settings)
            self._workers.append(self._local.worker)
        return self._local.worker.run(task)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.stop()


class _Worker:
    """One process at a time, started when it is needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process: Any = None
        self.connection: Connection | None = None

    def run(self, task: Task) -> Result:
        try:
            if self.process is None:
                self._start()
                self._receive(_START_TIMEOUT)
            self.connection.send(task)
            return self._receive(self.settings.timeout)
        except TimeoutError as error:
            self.stop()
            return Result(task.operator, task.label, "timeout", str(error))
        except (EOFError, BrokenPipeError):
            self.process.join()
            note = f"the process ended with code {self.process.exitcode}"
            self.stop()
            return Result(task.operator, task.label, "crashed", note)

    def _receive(self, timeout: float) -> Any:
        if not self.connection.poll(timeout):
            raise TimeoutError(f"no answer in {timeout:g} s")
        return self.connection.recv()

    def _start(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs, self.settings), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = self.connection = None


def _serve(connection: Connection, settings: Settings) -> None:
    """The worker's side: tasks in, results out, until the other end closes."""
    reference, subject = reference_library(), subject_library(settings)
    connection.send("ready")
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(run(task, reference, subject, settings.limit))
