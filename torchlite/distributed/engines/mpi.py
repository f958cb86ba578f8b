"""Processes that mpiexec started: MPI, through mpi4py, which is handed the tensors' own memory."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, NoReturn

import numpy as np

from ...core.state import local
from ...core.values import Array
from .. import guard
from ..errors import DistBackendError
from ..reduction import Reduction
from .base import Done, Engine
from .launched import mpi
from .watch import Watch

_OPS = {
    "add": "SUM", "multiply": "PROD", "minimum": "MIN", "maximum": "MAX", "bitwise_and": "BAND", "bitwise_or": "BOR",
    "bitwise_xor": "BXOR",
}  # fmt: skip
_OF_BOOLS = {"add": "MAX", "multiply": "MIN"}  # which are numbers of one byte to MPI
_DATATYPES = {
    "bool": "UINT8_T", "float32": "FLOAT", "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX",
    "complex128": "C_DOUBLE_COMPLEX",
} | {f"{sign}int{bits}": f"{sign.upper()}INT{bits}_T" for sign in ("", "u") for bits in (8, 16, 32, 64)}  # fmt: skip
_GLANCES = 50  # before sleeping between two looks
_LONGEST = 5e-4  # seconds between two looks
_NEWS = 10.0  # seconds until the end of a process is known everywhere
_TAGS = 1  # what is added to tags: a barrier's own is -1, and MPI has none below 0


class MessagePassing(Engine):
    """Collectives of MPI. All meet first, with patience and a limit; then they are there, and MPI hurries."""

    def __init__(self, rank: int, ranks: Sequence[int], timeout: float) -> None:
        super().__init__(rank, ranks, timeout)
        world = mpi().COMM_WORLD
        if world.size < len(ranks):
            raise DistBackendError(f"mpiexec started {world.size} processes, and there are to be {len(ranks)}")
        self._comm = world.Create_group(world.group.Incl(list(ranks)))
        self._comm.Set_errhandler(mpi().ERRORS_RETURN)
        self._watch = _watch(self)
        self._messages = _Messages(self._comm.Dup(), self.ranks, self._watch)

    # ---- meeting

    @contextlib.contextmanager
    def _met(self, name: str) -> Iterator[Any]:
        """When all are there, MPI's end of the group."""
        request = self._comm.Ibarrier()
        deadline = time.monotonic() + self.timeout
        for slept in _looks():
            if request.Test():
                break
            if slept:
                self._watch.check(self.ranks, name)
            if slept and time.monotonic() > deadline:
                raise DistBackendError(
                    f"[Rank {self.ranks[self.rank]}] Timed out waiting {self.timeout * 1000:.0f}ms for the other ranks "
                    f"to take part in {name}"
                )
        try:
            with self._watch.within(name, self.ranks):
                yield self._comm
        except mpi().Exception as error:
            self._explain(name, error)

    def _explain(self, name: str, error: Exception) -> NoReturn:
        """MPI may meet the broken connection of a process that is gone before the news of its end comes."""
        deadline = time.monotonic() + _NEWS
        while time.monotonic() < deadline:
            self._watch.check(self.ranks, name)
            time.sleep(_LONGEST)
        raise DistBackendError(str(error)) from error

    def barrier(self) -> None:
        with self._met("barrier"):
            pass

    def broadcast(self, array: Array, root: int) -> None:
        with self._met("broadcast") as comm:
            comm.Bcast(_bytes(array), root)

    def all_reduce(self, array: Array, reduction: Reduction) -> None:
        with self._met("all_reduce") as comm:
            comm.Allreduce(mpi().IN_PLACE, _numbers(array), _op(array, reduction))

    def reduce(self, array: Array, reduction: Reduction, root: int) -> None:
        own = _numbers(array)
        given, room = (mpi().IN_PLACE, own) if self.rank == root else (own, None)
        with self._met("reduce") as comm:
            comm.Reduce(given, room, _op(array, reduction), root)

    def reduce_scatter(self, out: Array, pieces: Sequence[Array], reduction: Reduction) -> None:
        given, sizes = _numbers(_joined(pieces)), [out.size] * self.size
        with self._met("reduce_scatter") as comm:
            comm.Reduce_scatter(given, _numbers(out), sizes, _op(out, reduction))

    def all_gather(self, outs: Sequence[Array], array: Array) -> None:
        whole = _room(outs)
        with self._met("all_gather") as comm:
            comm.Allgather(_bytes(array), _bytes(whole))
        _hand_out(whole, outs)

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> None:
        whole = _room(outs) if outs else None
        with self._met("gather") as comm:
            comm.Gather(_bytes(array), None if whole is None else _bytes(whole), root)
        if whole is not None:
            _hand_out(whole, outs or ())

    def scatter(self, array: Array, pieces: Sequence[Array] | None, root: int) -> None:
        given = _bytes(_joined(pieces)) if pieces else None
        with self._met("scatter") as comm:
            comm.Scatter(given, _bytes(array), root)

    def all_to_all(self, outs: Sequence[Array], pieces: Sequence[Array]) -> None:
        whole = _room(outs)
        given, room = [_joined(pieces).view(np.uint8), _sizes(pieces)], [whole.view(np.uint8), _sizes(outs)]
        with self._met("all_to_all") as comm:
            comm.Alltoallv([*given, mpi().BYTE], [*room, mpi().BYTE])
        _hand_out(whole, outs)

    # ---- messages

    def send(self, array: Array, to: int, tag: int, done: Done) -> None:
        self._messages.begin(self._messages.comm.Isend(_bytes(array), to, tag + _TAGS), done, to)

    def receive(self, array: Array, source: int | None, tag: int, done: Done) -> None:
        other = mpi().ANY_SOURCE if source is None else source
        self._messages.begin(self._messages.comm.Irecv(_bytes(array), other, tag + _TAGS), done, source)

    def fail(self, why: str) -> None:
        print(why, file=sys.stderr, flush=True)
        mpi().COMM_WORLD.Abort(1)

    def close(self) -> None:
        self._messages.close()


class _Messages:
    """Sends and receives under way. A thread looks after them, ever more seldom while nothing happens."""

    def __init__(self, comm: Any, ranks: Sequence[int], watch: Watch) -> None:
        self.comm, self._ranks, self._watch = comm, ranks, watch
        self._under_way: deque[tuple[Any, Done, int | None]] = deque()
        self._work = threading.Event()
        self._ended = False
        self._thread: threading.Thread | None = None

    def begin(self, request: Any, done: Done, other: int | None) -> None:
        if other is not None and request.Test():
            done(None, other)
            return
        self._under_way.append((request, done, other))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="messages")
            self._thread.start()
        self._work.set()

    def _run(self) -> None:
        while not self._ended:
            self._work.wait()
            self._work.clear()
            for _ in _looks():
                if self._look() or not self._under_way or self._ended:
                    break
            if self._under_way:
                self._work.set()

    def _look(self) -> bool:
        """Look at each once, and say whether one was done."""
        status, some = mpi().Status(), False
        for _ in range(len(self._under_way)):
            request, done, other = self._under_way.popleft()
            try:
                if request.Test(status):
                    done(None, status.Get_source() if other is None else other)
                elif why := self._lost(other):
                    done(DistBackendError(why), -1)
                else:
                    self._under_way.append((request, done, other))
                    continue
            except mpi().Exception as error:
                done(DistBackendError(str(error)), -1)
            some = True
        return some

    def _lost(self, other: int | None) -> str | None:
        """Why there is nobody any more at the other end; of a receive from anyone, when all others are gone."""
        if not self._watch.gone:
            return None
        ends = [other] if other is not None else [rank for rank in range(self.comm.size) if rank != self.comm.rank]
        why = [self._watch.lost(self._ranks[end]) for end in ends]
        return why[0] if all(why) else None

    def close(self) -> None:
        self._ended = True
        self._work.set()


def _looks() -> Iterator[bool]:
    """Goes on for as long as something is awaited, with pauses that grow; whether it has begun to sleep in them."""
    for _ in range(_GLANCES):
        yield False
        os.sched_yield()
    pause = 2e-5
    while True:
        yield True
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST)


# ---- memory, as MPI is told of it


def _bytes(array: Array) -> list[Any]:
    return [array.view(np.uint8) if array.size else np.empty(0, np.uint8), mpi().BYTE]


def _numbers(array: Array) -> list[Any]:
    return [_bytes(array)[0], array.size, _datatype(array.dtype)]


@functools.cache
def _datatype(dtype: np.dtype) -> Any:
    known = _DATATYPES.get(dtype.name)
    return getattr(mpi(), known) if known else mpi().BYTE.Create_contiguous(dtype.itemsize).Commit()


def _op(array: Array, reduction: Reduction) -> Any:
    name = reduction.name
    if array.dtype.name not in _DATATYPES:
        return _own_op(array.dtype, name)
    return getattr(mpi(), _OF_BOOLS.get(name, _OPS[name]) if array.dtype.kind == "b" else _OPS[name])


@functools.cache
def _own_op(dtype: np.dtype, name: str) -> Any:
    """A reduction of numbers that MPI does not know."""
    combine = getattr(np, name)

    def reduce(given: Any, room: Any, _: Any) -> None:
        target = np.frombuffer(room, dtype)
        local.state.quiet(combine, np.frombuffer(given, dtype), target, target)

    return mpi().Op.Create(reduce, commute=True)


def _sizes(arrays: Sequence[Array]) -> list[int]:
    return [array.nbytes for array in arrays]


def _joined(arrays: Sequence[Array]) -> Array:
    """One array of all, which they are parts of if they lie so."""
    return _room(arrays) if _in_a_row(arrays) else np.concatenate(arrays)


def _room(arrays: Sequence[Array]) -> Array:
    """Memory for all behind each other: their own, if they lie so."""
    total = sum(array.size for array in arrays)
    if not _in_a_row(arrays):
        return np.empty(total, arrays[0].dtype)
    first = next((array for array in arrays if array.size), arrays[0])
    return np.lib.stride_tricks.as_strided(first, (total,), (first.itemsize,))


def _in_a_row(arrays: Sequence[Array]) -> bool:
    present = [array for array in arrays if array.size]
    ends = [array.ctypes.data + array.nbytes for array in present]
    return all(array.ctypes.data == end for array, end in zip(present[1:], ends)) and bool(present)


def _hand_out(whole: Array, outs: Sequence[Array]) -> None:
    at = 0
    for out in outs:
        piece = whole[at : at + out.size]
        if not np.may_share_memory(piece, out):
            out[...] = piece
        at += out.size


_watches: list[Watch] = []  # none, or that of the group of all


def _watch(group: MessagePassing) -> Watch:
    """Who looks after all processes; from the first group on, an exception that nobody caught in one ends all."""
    if not _watches:
        _watches.append(Watch(group._comm, timedelta(seconds=group.timeout)))
        sys.excepthook = functools.partial(_uncaught, sys.excepthook)
    return _watches[0]


def _uncaught(show: Any, kind: type[BaseException], *error: Any) -> None:
    show(kind, *error)
    _end_all(f"it ended by {kind.__name__}", 1)


def leave(end: SystemExit) -> None:
    """Exit with others who would wait for this process: one that failed ends them."""
    if end.code and _watches:
        code = end.code if isinstance(end.code, int) else 1
        if code is not end.code:
            print(end.code, file=sys.stderr)
        _end_all(f"it ended with exit code {code}", code)


def _end_all(why: str, code: int) -> None:
    """End all, when the others had time to notice."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    guard.note(os.getpid(), code)
    _watches[0].say(why, well=False)
    _watches[0].wait_for_others()
    mpi().COMM_WORLD.Abort(code)
