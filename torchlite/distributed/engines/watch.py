"""Which of the processes that MPI started are gone: each is connected to a store, which tells the others of its end."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from ..errors import DistBackendError, DistNetworkError
from ..guard import PATIENCE
from . import launched

_NEWS = "gone"
_SETTLED = 1.0  # seconds for what somebody who is gone had sent before
_STUCK = 2.0  # seconds until a collective of MPI with somebody who is gone will not come to its end


class _End(NamedTuple):
    """How a process ended, as far as it could tell, and when that was heard of."""

    why: str
    well: bool
    heard: float


class Watch:
    """What one process knows of the ends of the others."""

    def __init__(self, comm: Any, timeout: timedelta) -> None:
        self.gone: dict[int, _End] = {}
        self._rank, self._size = comm.rank, comm.size
        self._within: dict[int, tuple[str, Sequence[int]]] = {}  # collectives of MPI, by the threads that are in them
        self._store = launched.store(comm, timeout)
        self._ears = self._store.clone()
        self._processes = comm.allgather(os.getpid())
        self._store._ask("will", "enlist", _NEWS, self._news("it ended, or was ended", well=False))
        threading.Thread(target=self._listen, daemon=True, name="watch").start()
        atexit.register(self.say, "it ended", well=True)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._close)  # or the store would not hear of this one's end

    def _news(self, why: str, well: bool) -> bytes:
        return json.dumps([self._rank, why, well]).encode()

    def say(self, why: str, well: bool) -> None:
        """Let the others know that this process ends, and why."""
        with contextlib.suppress(DistNetworkError):
            self._store._ask("enlist", _NEWS, self._news(why, well))
            self._store._ask("will")

    def _close(self) -> None:
        for store in (self._store, self._ears):
            store._connection.close()

    # ---- hearing of others

    def _listen(self) -> None:
        number = 1
        try:
            while True:
                if self._ears._ask("await", [key := f"{_NEWS}/{number}"], PATIENCE * 100):
                    self._hear(*json.loads(self._ears._ask("peek", key)))
                    number += 1
        except DistNetworkError:
            self._hear(0, "it ended, or was ended", well=False)  # with its store

    def _hear(self, rank: int, why: str, well: bool) -> None:
        if rank == self._rank or rank in self.gone:
            return
        self.gone[rank] = _End(f"rank {rank} (process {self._processes[rank]}) is gone: {why}", well, time.monotonic())
        if not well:
            timer = threading.Timer(_STUCK, self._end_if_stuck, [rank])
            timer.daemon = True
            timer.start()

    def _end_if_stuck(self, rank: int) -> None:
        """MPI does not return from a collective without one of its processes: no error could be raised there."""
        for name, ranks in list(self._within.values()):
            if rank in ranks:
                print(f"DistBackendError: {self.gone[rank].why}, in {name}", file=sys.stderr, flush=True)
                os._exit(1)

    # ---- for those who wait

    def lost(self, rank: int) -> str | None:
        """Why nothing can come from a process any more."""
        end = self.gone.get(rank)
        return end.why if end and time.monotonic() - end.heard > _SETTLED else None

    def check(self, ranks: Sequence[int], name: str) -> None:
        """An error if one that is waited for is gone."""
        for rank in ranks if self.gone else ():
            if why := self.lost(rank):
                raise DistBackendError(f"{why}, in {name}")

    @contextlib.contextmanager
    def within(self, name: str, ranks: Sequence[int]) -> Iterator[None]:
        """While this thread is in a collective of MPI."""
        thread = threading.get_ident()
        self._within[thread] = name, ranks
        try:
            yield
        finally:
            del self._within[thread]

    def wait_for_others(self) -> None:
        """Until all have ended or failed, too; some may have a long way to a call in which they would."""
        deadline = time.monotonic() + PATIENCE
        while len(self.gone) < self._size - 1 and time.monotonic() < deadline:
            time.sleep(0.01)
