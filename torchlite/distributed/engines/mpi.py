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
from typing import Any

import numpy as np

from ...core.state import local
from ...core.values import Array
from ..errors import DistBackendError
from ..reduction import Reduction
from .base import Done, Engine
from .launched import mpi

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
_TAGS = 1  # what is added to tags: a barrier's own is -1, and MPI has none below 0


class MessagePassing(Engine):
    """Collectives of MPI. All meet first, with patience and a limit; then they are there, and MPI hurries."""

    def __init__(self, rank: int, ranks: Sequence[int], timeout: float) -> None:
        super().__init__(rank, ranks, timeout)
        world = mpi().COMM_WORLD
        if world.size < len(ranks):
            raise DistBackendError(f"mpiexec started {world.size} processes, and there are to be {len(ranks)}")
        _end_with_one()
        self._comm = world.Create_group(world.group.Incl(list(ranks)))
        self._messages = _Messages(self._comm.Dup())

    # ---- meeting

    def _meet(self, name: str) -> Any:
        request = self._comm.Ibarrier()
        deadline = time.monotonic() + self.timeout
        for slept in _looks():
            if request.Test():
                return self._comm
            if slept and time.monotonic() > deadline:
                raise DistBackendError(
                    f"Timed out waiting {self.timeout * 1000:.0f}ms for the other ranks to take part in {name}"
                )

    def barrier(self) -> None:
        self._meet("barrier")

    def broadcast(self, array: Array, root: int) -> None:
        self._meet("broadcast").Bcast(_bytes(array), root)

    def all_reduce(self, array: Array, reduction: Reduction) -> None:
        self._meet("all_reduce").Allreduce(mpi().IN_PLACE, _numbers(array), _op(array, reduction))

    def reduce(self, array: Array, reduction: Reduction, root: int) -> None:
        own = _numbers(array)
        given, room = (mpi().IN_PLACE, own) if self.rank == root else (own, None)
        self._meet("reduce").Reduce(given, room, _op(array, reduction), root)

    def reduce_scatter(self, out: Array, pieces: Sequence[Array], reduction: Reduction) -> None:
        self._meet("reduce_scatter").Reduce_scatter(
            _numbers(_joined(pieces)), _numbers(out), [out.size] * self.size, _op(out, reduction)
        )

    def all_gather(self, outs: Sequence[Array], array: Array) -> None:
        whole = _room(outs)
        self._meet("all_gather").Allgather(_bytes(array), _bytes(whole))
        _hand_out(whole, outs)

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> None:
        whole = _room(outs) if outs else None
        self._meet("gather").Gather(_bytes(array), None if whole is None else _bytes(whole), root)
        if whole is not None:
            _hand_out(whole, outs or ())

    def scatter(self, array: Array, pieces: Sequence[Array] | None, root: int) -> None:
        self._meet("scatter").Scatter(_bytes(_joined(pieces)) if pieces else None, _bytes(array), root)

    def all_to_all(self, outs: Sequence[Array], pieces: Sequence[Array]) -> None:
        whole = _room(outs)
        given, room = [_joined(pieces).view(np.uint8), _sizes(pieces)], [whole.view(np.uint8), _sizes(outs)]
        self._meet("all_to_all").Alltoallv([*given, mpi().BYTE], [*room, mpi().BYTE])
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

    def __init__(self, comm: Any) -> None:
        self.comm = comm
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
                if not request.Test(status):
                    self._under_way.append((request, done, other))
                    continue
                done(None, status.Get_source() if other is None else other)
            except mpi().Exception as error:
                done(DistBackendError(str(error)), -1)
            some = True
        return some

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


@functools.cache
def _end_with_one() -> None:
    """From now on, an exception that nobody caught in one process ends all."""
    before, world = sys.excepthook, mpi().COMM_WORLD

    def end(*error: Any) -> None:
        before(*error)
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        world.Abort(1)

    if world.size > 1:
        sys.excepthook = end
