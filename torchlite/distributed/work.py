"""What was begun, and may be waited for."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..core.values import shown_in
from ..futures import Future
from .errors import DistBackendError


@shown_in("torch.distributed.distributed_c10d")
class Work:
    """A collective, a send or a receive that was begun."""

    def __init__(
        self, name: str = "", result: Sequence[Any] = (), seconds: float = threading.TIMEOUT_MAX,
        urge: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._name, self._result, self._seconds = name, list(result), seconds
        self._urge = urge  # for what begins when somebody asks for it
        self._pending = threading.Lock()
        self._pending.acquire()
        self._error: BaseException | None = None
        self._source = -1
        self._future: Future | None = None
        self._handing = threading.Lock()
        self._settle: Callable[[], None] | None = None
        self._seen: Callable[[], None] | None = None  # tells a profiler that it is done

    def _finish(self, error: BaseException | None = None, source: int = -1) -> None:
        """Tell those who wait that it is done, or what went wrong."""
        if error is None and self._settle is not None:
            try:
                self._settle()
            except Exception as wrong:
                error = wrong
        if self._seen is not None:
            self._seen()
        with self._handing:
            self._error, self._source = error, source
            self._pending.release()
            future = self._future
        if future is not None:
            self._hand(future)

    def _hand(self, future: Future) -> None:
        if self._error is None:
            future.set_result(self._result)
        else:
            future.set_exception(self._error)

    def is_completed(self) -> bool:
        """Whether it is done, well or not."""
        self._urge()
        return not self._pending.locked()

    def is_success(self) -> bool:
        """Whether it is done, and well."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong, if something did."""
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; what went wrong is raised."""
        self._urge()
        seconds = timeout.total_seconds() if timeout else self._seconds
        if not self._pending.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            raise DistBackendError(f"Timed out waiting {seconds * 1000:.0f}ms for {self._name} operation to complete")
        self._pending.release()
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Wait until it is done."""
        self.wait()

    def result(self) -> list[Any]:
        """The tensors that it was to fill."""
        self.wait()
        return self._result

    def source_rank(self) -> int:
        """The rank from which a receive got its tensor."""
        if self._name != "recv":
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
            )
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future:
        """A future of the tensors that it fills."""
        with self._handing:
            known, future = self._future, self._future or Future()
            self._future, done = future, known is None and self.is_completed()
        if done:
            self._hand(future)
        return future


@shown_in("torch.distributed.distributed_c10d")
class _IllegalWork(Work):
    """What collectives give that are begun later only: it cannot be waited for."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in vars(Work) and not name.startswith("__"):
            raise ValueError(f"Illegal to call {name} on IllegalWork object")
        return super().__getattribute__(name)


def _create_work_from_future(future: Future) -> Work:
    """A work that is done when a future is."""
    work = Work("future", [], threading.TIMEOUT_MAX)
    work._future = future

    def settled(future: Future) -> None:
        try:
            value = future.value()
        except Exception as error:
            work._future = None
            work._finish(error)
        else:
            work._future, work._result = None, value if isinstance(value, list) else [value]
            work._finish()

    future.add_done_callback(settled)
    return work


class Line:
    """What one process does in a group, in order: at once where nothing is before it, or in a thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._tasks: queue.SimpleQueue[tuple[Callable[[], None], Work] | None] = queue.SimpleQueue()
        self._left = 0
        self._counting = threading.Lock()
        self._thread: threading.Thread | None = None

    def now(self, name: str, task: Callable[[], None], seconds: float) -> None:
        """Do it before returning."""
        if self._left or not self._turn.acquire(blocking=False):
            work = Work(name, [], seconds)
            self.later(task, work)
            work._pending.acquire()  # the engine minds the time
            if work._error is not None:
                raise work._error
            return
        try:
            task()
        finally:
            self._turn.release()

    def later(self, task: Callable[[], None], work: Work) -> None:
        """Do it when those before are done."""
        with self._counting:
            self._left += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="collectives")
                self._thread.start()
        self._tasks.put((task, work))

    def _run(self) -> None:
        while (given := self._tasks.get()) is not None:
            task, work = given
            error = None
            with self._turn:
                try:
                    task()
                except Exception as wrong:
                    error = wrong
            with self._counting:
                self._left -= 1
            work._finish(error)
            given = task = work = None  # type: ignore[assignment]

    def close(self, seconds: float = 10.0) -> None:
        """Do what is left, and no more."""
        if self._thread is not None:
            self._tasks.put(None)
            deadline = time.monotonic() + seconds
            self._thread.join(max(0.0, deadline - time.monotonic()))
            self._thread = None
