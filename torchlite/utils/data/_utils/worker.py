"""What a DataLoader's workers do: fetch batches and send them to the process that asks for them."""

from __future__ import annotations

import os
import queue
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....multiprocessing.channel import Message, packed, receive, send
from ....random import manual_seed
from ....settings import set_num_threads
from ...exceptions import ExceptionWrapper
from ..graph_settings import apply_sharding, seed_pipes
from .fetch import _DatasetKind
from .worker_info import WorkerInfo, get_worker_info  # noqa: F401

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds after which one looks whether a worker is still there
_worker_info: WorkerInfo | None = None  # the worker that this process is


class ManagerWatchdog:
    """Tells a worker whether the process that started it is still there."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent when a worker's share of an iterable dataset is exhausted."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Sent to a persistent worker, and back, between epochs."""

    seed: int | None = None


@dataclass(frozen=True)
class Job:
    """What workers are told when they are started."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    shared_seed: int | None
    init_fn: Callable[[int], Any] | None
    num_workers: int


def work(job: Job, worker_id: int, connection: Any, done: Any, inherited: list[Any]) -> None:
    """The life of a worker.

    Over the connection come tasks, pairs of a number and an index, or a `_ResumeIteration`, until nobody is at the
    other end. What comes of each is sent back with its number. Once `done[0]` is not zero, tasks need no answer.
    Other ends that this process inherited are closed: while it holds them, nobody would be missed there.
    """
    for end in inherited:
        end.close()
    set_num_threads(1)
    seed = job.base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(job.base_seed, worker_id))
    global _worker_info
    _worker_info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
    outbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_send, args=(outbox, connection), daemon=True).start()
    try:
        _work(job, worker_id, connection, outbox, done)
    except KeyboardInterrupt:
        pass  # so is the process that asked


def _work(job: Job, worker_id: int, connection: Any, outbox: Any, done: Any) -> None:
    where = f"in DataLoader worker process {worker_id}"
    fetcher: Any = None
    failure: ExceptionWrapper | None = None
    try:
        if job.shared_seed is not None:
            seed_pipes(job.dataset, job.shared_seed)
            apply_sharding(job.dataset, job.num_workers, worker_id)
        if job.init_fn is not None:
            job.init_fn(worker_id)
    except Exception:
        failure = ExceptionWrapper(where=where)
    for task in _tasks(connection):
        if done[0]:
            continue
        if isinstance(task, _ResumeIteration):
            outbox.put(_packed(task, None, where))
            seed_pipes(job.dataset, task.seed)
            fetcher = None
            continue
        number, index = task
        data: Any
        try:
            if failure is None:
                if fetcher is None:
                    fetcher = _DatasetKind.create_fetcher(
                        job.kind, job.dataset, job.auto_collation, job.collate_fn, job.drop_last
                    )
                data = fetcher.fetch(index)
            else:
                data, failure = failure, None
        except Exception as error:
            if isinstance(error, StopIteration) and job.kind == _DatasetKind.Iterable:
                data = _IterableDatasetStopIteration(worker_id)
            else:
                data = ExceptionWrapper(where=where)
        outbox.put(_packed(number, data, where))
        del data, task  # which hold memory


def _tasks(connection: Any) -> Iterator[Any]:
    while True:
        try:
            yield receive(connection)
        except (EOFError, ConnectionError):
            return


def _packed(number: Any, data: Any, where: str) -> Message:
    try:
        return packed((number, data))
    except Exception:
        return packed((number, ExceptionWrapper(where=where)))


def _send(outbox: Any, connection: Any) -> None:
    """Send what is in the outbox, so that the worker need not wait until it is read."""
    try:
        while True:
            send(connection, outbox.get())
    except OSError:
        pass  # nobody reads any more


def _generate_state(base_seed: int, worker_id: int) -> np.ndarray:
    """A seed for NumPy's generator that is like no other worker's."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4)
