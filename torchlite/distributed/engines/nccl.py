"""Processes with a GPU each: NCCL, through CuPy."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core.values import Array
from ..errors import DistBackendError
from ..reduction import Reduction
from ..stores import Store
from .base import Done, Engine

_OPS = {"add": "SUM", "multiply": "PROD", "minimum": "MIN", "maximum": "MAX"}
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


class NCCL(Engine):
    """Collectives between GPUs, on the stream that is current; they return when it has come to their end."""

    device = "cuda"

    def __init__(self, store: Store, rank: int, ranks: Sequence[int], timeout: float) -> None:
        super().__init__(rank, ranks, timeout)
        self._nccl, self._store = _nccl(), store
        self._made: Any = None
        self._gathering = False
        self._begun: list[tuple[Array, Callable[[Any, int], Any], int, Done]] = []

    @contextlib.contextmanager
    def _on(self, array: Array) -> Iterator[tuple[Any, int]]:
        """What connects the GPUs, and the address of the stream; made for the GPU of the first array."""
        import cupy

        with array.device:
            if self._made is None:
                if self.rank == 0:
                    self._store.set("id", json.dumps(list(self._nccl.get_unique_id())))
                self._made = self._nccl.NcclCommunicator(
                    self.size, tuple(json.loads(self._store.get("id"))), self.rank
                )
            stream = cupy.cuda.get_current_stream()
            try:
                yield self._made, stream.ptr
                stream.synchronize()
            except self._nccl.NcclError as error:
                raise DistBackendError(f"NCCL error: {error}") from error

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
        if name not in _OPS or (array.dtype.name not in _DTYPES and array.dtype.kind != "c"):
            raise ValueError(f"NCCL does not reduce {array.dtype.name} by {name}")
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
        if own is not None and out is not None:
            out[...] = own
        with self._on(on) as (group, stream):
            self._nccl.groupStart()
            for other in range(self.size):
                piece, room = pieces[other], outs[other]
                if other != self.rank and piece is not None and piece.size:
                    group.send(piece.data.ptr, *self._kind(piece), other, stream)
                if other != self.rank and room is not None and room.size:
                    group.recv(room.data.ptr, *self._kind(room), other, stream)
            self._nccl.groupEnd()

    def send(self, array: Array, to: int, tag: int, done: Done) -> None:
        self._begin(array, lambda group, stream: group.send(array.data.ptr, *self._kind(array), to, stream), to, done)

    def receive(self, array: Array, source: int | None, tag: int, done: Done) -> None:
        if source is None:
            raise ValueError("NCCL receives from a rank that is named")
        self._begin(
            array, lambda group, stream: group.recv(array.data.ptr, *self._kind(array), source, stream), source, done
        )

    def _begin(self, array: Array, what: Callable[[Any, int], Any], other: int, done: Done) -> None:
        self._begun.append((array, what, other, done))
        if not self._gathering:
            self._launch()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
            self._launch()

    def _launch(self) -> None:
        """Begin at once what was gathered: one after the other, two processes would wait for each other."""
        begun, self._begun = self._begun, []
        failure = None
        try:
            for array, *_ in begun[:1]:
                with self._on(array) as (group, stream):
                    self._nccl.groupStart()
                    for _, what, *_ in begun:
                        what(group, stream)
                    self._nccl.groupEnd()
        except DistBackendError as error:
            failure = error
        for _, _, other, done in begun:
            done(failure, other)

    def fail(self, why: str) -> None:
        if self._made is not None:
            self._made.abort()

    def close(self) -> None:
        if self._made is not None:
            self._made.destroy()
            self._made = None
