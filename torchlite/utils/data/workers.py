"""Batches made by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import signal
import time
import weakref
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from ...core.values import dt, shown_in, warn
from ...multiprocessing.channel import hang_up, packed, receive, send
from ...operations.making.factories import zeros
from ..exceptions import ExceptionWrapper
from ._utils.worker import MP_STATUS_CHECK_INTERVAL, Job, _IterableDatasetStopIteration, _ResumeIteration, work
from .iteration import _BaseDataLoaderIter

if TYPE_CHECKING:
    from .dataloader import DataLoader


_NONE = object()


class _Worker:
    """A worker process, and the connection over which tasks go and results come."""

    def __init__(self, context: Any, job: Job, index: int, done: Any, others: list[_Worker]) -> None:
        self.connection, far_end = context.Pipe()
        forks = context.get_start_method() == "fork"
        inherited = [worker.connection for worker in (*others, self)] if forks else []
        self.process = context.Process(target=work, args=(job, index, far_end, done, inherited), daemon=True)
        self.active = True  # whether it has samples left
        try:
            self.process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warn(
                "Got pickle error when attempting to start a worker Process. This might be because the worker Process "
                "arguments are not picklable. Python 3.14+ changed the multiprocessing start method in non-Mac POSIX "
                "platforms to 'forkserver', which requires the worker Process arguments to be picklable. You can also "
                "try multiprocessing.set_start_method('fork').",
            )
            raise
        finally:
            far_end.close()

    def put(self, task: Any) -> None:
        try:
            send(self.connection, packed(task))
        except ConnectionError:
            pass  # it is gone, which will be seen when its results are waited for


@shown_in("torch.utils.data.dataloader")
class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Tasks are numbered, and handed to the workers in turn; so many are under way at any time."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._in_order = loader.in_order
        if loader.prefetch_factor == 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._ahead = loader.num_workers * loader.prefetch_factor  # type: ignore[operator]
        self._done = zeros(1, dtype=dt.uint8).share_memory_()
        self._workers: list[_Worker] = []
        super().__init__(loader)
        self._start(loader)
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if not first_iter:
            self._resume()
        self._assigned: dict[int, _Worker] = {}  # the tasks whose results were not handed out
        self._results: dict[int, Any] = {}  # those that came too early
        self._sent = 0
        self._turns = itertools.cycle(self._workers)
        for _ in range(self._ahead):
            self._assign()

    def _start(self, loader: DataLoader[Any]) -> None:
        context = loader.multiprocessing_context or multiprocessing
        job = Job(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last, self._base_seed,
            self._shared_seed, loader.worker_init_fn, loader.num_workers,
        )  # fmt: skip
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._workers, self._done)
        for index in range(loader.num_workers):
            self._workers.append(_Worker(context, job, index, self._done, self._workers))

    def _resume(self) -> None:
        """Begin another pass with the workers there are: what is left of the last is not wanted any more."""
        for worker in self._workers:
            worker.active = True
            worker.put(_ResumeIteration(self._shared_seed))
        for worker in self._workers:
            while not isinstance(self._received([worker])[0], _ResumeIteration):
                pass

    def _assign(self) -> None:
        """Give the next task to the worker whose turn it is, or that has the fewest."""
        index = next(self._sampler_iter, _NONE)
        active = [worker for worker in self._workers if worker.active]
        if index is _NONE or not active:
            return
        if self._in_order:
            worker = next(worker for worker in self._turns if worker.active)
        else:
            busy = list(self._assigned.values())
            worker = min(active, key=busy.count)
        worker.put((self._sent, index))
        self._assigned[self._sent] = worker
        self._sent += 1

    def _next_data(self) -> Any:
        while self._assigned:
            number: Any = next(iter(self._assigned)) if self._in_order else next(iter(self._results), None)
            if number in self._results:
                return self._hand_out(number)
            workers = [self._assigned[number]] if self._in_order else set(self._assigned.values())
            number, data = self._received(workers)
            if isinstance(data, _IterableDatasetStopIteration):
                self._exhausted(self._workers[data.worker_id])
            else:
                self._results[number] = data
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _hand_out(self, number: int) -> Any:
        data = self._results.pop(number)
        del self._assigned[number]
        self._assign()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _exhausted(self, worker: _Worker) -> None:
        """A worker has no more samples: the tasks it still has come to nothing."""
        worker.active = False
        self._assigned = {n: w for n, w in self._assigned.items() if w is not worker or n in self._results}
        self._assign()

    def _received(self, workers: Any) -> tuple[Any, Any]:
        """The next message of one of these workers."""
        deadline = time.monotonic() + self._timeout if self._timeout else float("inf")
        ends = {worker.connection: worker for worker in workers}
        ends.update({worker.process.sentinel: worker for worker in workers})
        while True:
            left = deadline - time.monotonic()
            ready = wait(list(ends), max(0, min(left, MP_STATUS_CHECK_INTERVAL)))
            messages = [end for end in ready if not isinstance(end, int)]
            if messages:
                try:
                    return receive(messages[0])
                except (EOFError, ConnectionError):  # the worker is gone, or about to be
                    ends[messages[0]].process.join(1)
                    self._look_after_workers()
                    raise
            self._look_after_workers()
            if not ready and left <= MP_STATUS_CHECK_INTERVAL:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _shutdown_workers(self) -> None:
        self._finalizer()

    def _look_after_workers(self) -> None:
        """If a worker is gone, which none should be, end the others and raise an error."""
        dead = [worker.process for worker in self._workers if not worker.process.is_alive()]
        if not dead:
            return
        self._assigned.clear()
        code = dead[0].exitcode
        cause = None
        if code < 0:
            how = signal.strsignal(-code) or f"Unknown signal {-code}"
            cause = RuntimeError(f"DataLoader worker (pid {dead[0].pid}) is killed by signal: {how}. ")
        pids = ", ".join(str(process.pid) for process in dead)
        self._shutdown_workers()
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause


def _end(owner: int, workers: list[_Worker], done: Any) -> None:
    """Let the workers go, and see that they do."""
    if os.getpid() != owner:  # a copy of what another process started
        return
    done[0] = 1
    for worker in workers:
        hang_up(worker.connection)
    deadline = time.monotonic() + MP_STATUS_CHECK_INTERVAL
    for worker in workers:
        worker.process.join(max(0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
