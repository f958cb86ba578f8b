"""Processes with a GPU each: NCCL, through CuPy."""

from __future__ import annotations

import contextlib
import math
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from ...core.values import Array
from ..errors import DistBackendError
from ..reduction import Reduction
from ..stores import PrefixStore, Store
from ..work import Line, Work
from .base import Done, Engine

_OPS = {"add": "SUM", "multiply": "PROD", "minimum": "MIN", "maximum": "MAX"}
_REFUSED = {"bitwise_and": "BAND", "bitwise_or": "BOR", "bitwise_xor": "BXOR"}
_DTYPES = {
    "bool": "UINT8", "uint8": "UINT8", "int8": "INT8", "int32": "INT32", "uint32": "UINT32", "int64": "INT64",
    "uint64": "UINT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT32", "float64": "FLOAT64",
}  # fmt: skip


def _nccl() -> Any:
    from cupy.cuda import nccl

    return nccl


def available() -> bool:
    """Whether there is CuPy, with NCCL."""
    try:
        return bool(_nccl().available)
    except ImportError:
        return False


class _Communicator:
    """NCCL's communicator between some processes: used by one call at a time, aborted when a call takes too long."""

    def __init__(self, store: Store, rank: int, ranks: Sequence[int], timeout: float) -> None:
        self._nccl, self._store, self._rank, self._ranks, self.timeout = _nccl(), store, rank, ranks, timeout
        self._made: Any = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._deadline, self._failure = math.inf, ""

    @contextlib.contextmanager
    def on(self, array: Array) -> Iterator[tuple[Any, int]]:
        """CuPy's communicator, made for the GPU of the first array, and the address of its stream."""
        import cupy

        with self._lock, array.device:
            self._raise_failure()
            self._made = self._made or self._connect()
            stream = cupy.cuda.get_current_stream()
            self._deadline = time.monotonic() + self.timeout
            try:
                yield self._made, stream.ptr
                stream.synchronize()
            except self._nccl.NcclError as error:
                self._failure = self._failure or f"NCCL error: {error}"
            finally:
                self._deadline = math.inf
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure:
            raise DistBackendError(self._failure)

    def _connect(self) -> Any:
        """Connect to the other processes, by the store first: NCCL itself would wait for ever."""
        if self._rank == 0:
            self._store.set("id", pickle.dumps(self._nccl.get_unique_id()))
        self._store.set(str(self._rank), "")
        for number, other in enumerate(self._ranks):
            try:
                self._store.wait([str(number)], timedelta(seconds=self.timeout))
            except RuntimeError:
                raise DistBackendError(f"rank {other} did not come to NCCL within {self.timeout:g} s") from None
        threading.Thread(target=self._watch, daemon=True, name="watchdog").start()
        return self._nccl.NcclCommunicator(len(self._ranks), pickle.loads(self._store.get("id")), self._rank)

    def _watch(self) -> None:
        while not self._ended.wait(min(1.0, self.timeout / 10)):
            if time.monotonic() > self._deadline:
                self.fail(
                    f"[Rank {self._ranks[self._rank]}] Watchdog caught collective operation timeout: it ran for "
                    f"{self.timeout * 1000:.0f} milliseconds before timing out."
                )

    def fail(self, why: str) -> None:
        self._failure = self._failure or why
        self._leave("abort")

    def close(self) -> None:
        self._leave("destroy")

    def _leave(self, how: str) -> None:
        self._ended.set()
        made, self._made = self._made, None
        if made is not None:
            getattr(made, how)()


class NCCL(Engine):
    """Collectives between GPUs, on the stream that is current; they return when it has come to their end.

    What is begun only goes on a stream of its own, beside what the current one is told meanwhile.
    Sends and receives wait until somebody waits for one, and are then begun as one: one after the other, two processes
    that send would wait for each other.
    """

    device = "cuda"

    def __init__(self, store: Store, rank: int, ranks: Sequence[int], timeout: float) -> None:
        super().__init__(rank, ranks, timeout)
        self._nccl = _nccl()
        self._all, self._pairs = (
            _Communicator(PrefixStore(name, store), rank, self.ranks, timeout) for name in ("all", "pairs")
        )
        self._messages: list[tuple[Array, Callable[[Any, int], Any], int, Done]] = []
        self._line = Line()
        self._own: Any = None  # a stream

    def placed(self, run: Callable[[], None], beside: bool) -> Callable[[], None]:
        import cupy

        device, stream = cupy.cuda.Device(), cupy.cuda.get_current_stream()
        own = self._own = self._own or cupy.cuda.Stream(non_blocking=True)
        ready = stream.record() if beside else None

        def on_its_own() -> None:
            with device, own:
                own.wait_event(ready)
                run()
                own.synchronize()

        def on_the_callers() -> None:
            with device, stream:  # of which each thread has its own
                run()

        return on_its_own if beside else on_the_callers

    @contextlib.contextmanager
    def _on(self, array: Array) -> Iterator[tuple[Any, int]]:
        self.begin()
        self._all.timeout = self.timeout
        with self._all.on(array) as found:
            yield found

    def _kind(self, array: Array) -> tuple[int, int]:
        """How many numbers an array has, and of which type, as NCCL knows them; bytes, if it knows none such."""
        name = array.dtype.name
        if name.startswith("complex"):
            return array.size * 2, self._constant(_DTYPES[array.real.dtype.name])
        if name in _DTYPES:
            return array.size, self._constant(_DTYPES[name])
        return array.nbytes, self._constant("UINT8")

    def _op(self, array: Array, reduction: Reduction) -> int:
        name = "maximum" if array.dtype.kind == "b" and reduction.name == "add" else reduction.name
        if name not in _OPS:
            raise ValueError(f"Cannot use ReduceOp.{_REFUSED[name]} with NCCL")
        if array.dtype.name not in _DTYPES and array.dtype.kind != "c":
            raise TypeError(f"NCCL does not reduce {array.dtype.name}")
        return self._constant(_OPS[name])

    def _constant(self, name: str) -> int:
        return getattr(self._nccl, f"NCCL_{name}")

    def barrier(self) -> None:
        import cupy

        self._all_reduce(cupy.zeros(1, cupy.uint8), self._constant("SUM"))

    def broadcast(self, array: Array, root: int) -> None:
        with self._on(array) as (group, stream):
            group.bcast(array.data.ptr, *self._kind(array), root, stream)

    def all_reduce(self, array: Array, reduction: Reduction) -> None:
        self._all_reduce(array, self._op(array, reduction))

    def _all_reduce(self, array: Array, op: int) -> None:
        with self._on(array) as (group, stream):
            group.allReduce(array.data.ptr, array.data.ptr, *self._kind(array), op, stream)

    def reduce(self, array: Array, reduction: Reduction, root: int) -> None:
        op = self._op(array, reduction)
        with self._on(array) as (group, stream):
            group.reduce(array.data.ptr, array.data.ptr, *self._kind(array), op, root, stream)

    def reduce_scatter(self, out: Array, pieces: Sequence[Array], reduction: Reduction) -> None:
        import cupy

        whole, op = cupy.concatenate(pieces), self._op(out, reduction)
        with self._on(out) as (group, stream):
            group.reduceScatter(whole.data.ptr, out.data.ptr, *self._kind(out), op, stream)

    def all_gather(self, outs: Sequence[Array], array: Array) -> None:
        self._exchange(array, outs, [array] * self.size)

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> None:
        self._exchange(array, outs or [None] * self.size, self._only(root, array))

    def scatter(self, array: Array, pieces: Sequence[Array] | None, root: int) -> None:
        self._exchange(array, self._only(root, array), pieces or [None] * self.size)

    def all_to_all(self, outs: Sequence[Array], pieces: Sequence[Array]) -> None:
        self._exchange(pieces[0], outs, pieces)

    def _only(self, root: int, array: Array) -> list[Array | None]:
        return [array if other == root else None for other in range(self.size)]

    def _exchange(self, on: Array, outs: Sequence[Array | None], pieces: Sequence[Array | None]) -> None:
        """Give each its piece, and get one from each, all at once; from itself by copying."""
        own, out = pieces[self.rank], outs[self.rank]
        with self._on(on) as (group, stream), self._as_one():
            if own is not None and out is not None:
                out[...] = own
            for other in range(self.size):
                piece, room = pieces[other], outs[other]
                if other != self.rank and piece is not None and piece.size:
                    group.send(piece.data.ptr, *self._kind(piece), other, stream)
                if other != self.rank and room is not None and room.size:
                    group.recv(room.data.ptr, *self._kind(room), other, stream)

    def send(self, array: Array, to: int, tag: int, done: Done) -> None:
        self._messages.append(
            (array, lambda pairs, stream: pairs.send(array.data.ptr, *self._kind(array), to, stream), to, done)
        )

    def receive(self, array: Array, source: int | None, tag: int, done: Done) -> None:
        if source is None:
            raise ValueError("NCCL receives from a rank that is named")
        self._messages.append(
            (array, lambda pairs, stream: pairs.recv(array.data.ptr, *self._kind(array), source, stream), source, done)
        )

    def begin(self) -> None:
        messages, self._messages = self._messages, []
        if not messages:
            return
        self._pairs.timeout = self.timeout

        def task() -> None:
            failure = None
            try:
                with self._pairs.on(messages[0][0]) as (pairs, stream), self._as_one():
                    for _, move, *_ in messages:
                        move(pairs, stream)
            except DistBackendError as error:
                failure = error
            for _, _, other, done in messages:
                done(failure, other)

        self._line.later(self.placed(task, beside=False), Work("messages", [], self.timeout))

    @contextlib.contextmanager
    def _as_one(self) -> Iterator[None]:
        self._nccl.groupStart()
        try:
            yield
        finally:
            self._nccl.groupEnd()

    def fail(self, why: str) -> None:
        self._all.fail(why)
        self._pairs.fail(why)

    def close(self) -> None:
        self.begin()
        self._line.close()
        self._all.close()
        self._pairs.close()
