"""The processes of one host: they lay out what they have in shared pages, and tell each other over local sockets.

Everything is made of one step, `_exchange`: each process hands one piece to every other, and goes on when it has got
all of its own. Pieces lie in one of two windows, by turns: whoever has what the others handed over in one step knows
that they are done with the step before. Who waits sleeps in the system; when a process dies its sockets are closed,
and that wakes the others.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.state import local
from ...core.values import Array
from ..errors import DistBackendError
from ..reduction import Reduction, fold_as_ring
from ..stores import Store
from .base import Done, Engine
from .link import ABORT, INLINE, Link, News, Window, words
from .mesh import Mesh
from .messages import Messages

_CHUNK = 1 << 21  # bytes of an array that are worked on at a time, so that they stay in the caches
_ALONE = 1 << 14  # bytes up to which every process reduces everything, rather than a part that it hands on
_NAMES = (
    "barrier", "broadcast", "all_reduce", "reduce", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all",
)  # fmt: skip
_CODE = {name: code for code, name in enumerate(_NAMES)}
_NOTHING = np.empty(0, np.uint8)


class SharedMemory(Engine):
    """Collectives between processes of one host."""

    def __init__(self, store: Store, rank: int, ranks: Sequence[int], timeout: float) -> None:
        super().__init__(rank, ranks, timeout)
        self._mesh = Mesh(store, rank, ranks, timeout)
        self._links = {other: Link(connection) for other, connection in self._mesh.channels["collectives"].items()}
        self._messages = Messages(self._mesh, rank)
        self._poll = select.poll()
        self._windows = Window(), Window()
        self._number = 0
        self._broken: str | None = None

    # ---- one step

    def _exchange(self, name: str, total: int, pieces: Sequence[np.ndarray], even: bool = True) -> list[np.ndarray]:
        """Hand each process its piece, and get theirs: bytes, good until the next step but one.

        `total` is how many there are in all, which is the same everywhere unless a collective is not `even`.
        """
        if self._broken is not None:
            raise DistBackendError(self._broken)
        try:
            self._hand_over(_CODE[name], total, pieces)
            news = self._collect(name)
            for other, one in news.items():
                if one.what != _CODE[name] or (even and one.total != total) or one.number != self._number:
                    theirs = _NAMES[one.what] if one.what < len(_NAMES) else "something else"
                    raise DistBackendError(
                        f"{self._mesh.peers[other]} is in {theirs} with {one.total} bytes, while rank "
                        f"{self.ranks[self.rank]} is in {name} with {total} bytes: all must call the same"
                    )
        except BaseException as error:
            self.fail(str(error) or f"rank {self.ranks[self.rank]} was interrupted: {type(error).__name__}")
            raise
        self._number += 1
        self._largest = max([total, *(one.total for one in news.values())])
        return [news[other].piece if other != self.rank else pieces[other] for other in range(self.size)]

    def _hand_over(self, what: int, total: int, pieces: Sequence[np.ndarray]) -> None:
        number = self._number
        window = self._windows[number % 2]
        laid: dict[int, tuple[int, int]] = {}  # pieces, by their identity, in the window
        at = 0
        large = {id(piece): piece for other, piece in enumerate(pieces) if other != self.rank and piece.size > INLINE}
        if large:
            window.make_room(sum(piece.size + 64 for piece in large.values()))
        for key, piece in large.items():
            window.array[at : at + piece.size] = piece
            laid[key] = at, piece.size
            at += (piece.size + 63) & -64
        for other, link in self._links.items():
            place = laid.get(id(pieces[other]))
            if place is None:
                link.tell(what, number, total, pieces[other])
            else:
                link.show(what, number, total, place, window, other)

    def _collect(self, name: str) -> dict[int, News]:
        news: dict[int, News] = {}
        missing = set(self._links)
        deadline = None
        while missing:
            for other in list(missing):
                one = self._links[other].take()
                if one is not None:
                    self._check_told(one)
                    news[other] = one
                    missing.discard(other)
                elif self._links[other].closed:
                    raise DistBackendError(f"{self._mesh.peers[other]} is gone: it ended, or left the group, in {name}")
            if missing:  # to look again, or to yield, would only keep the processor from those who are waited for
                deadline = deadline or time.monotonic() + self.timeout
                self._sleep(name, missing, deadline)
        return news

    def _check_told(self, one: News) -> None:
        if one.what == ABORT:
            raise DistBackendError(words(one))

    def _sleep(self, name: str, missing: set[int], deadline: float) -> None:
        """Wait until one of those who are missing has something to say, or is gone."""
        for other in missing:
            self._poll.register(self._links[other].connection, select.POLLIN)
        try:
            left = deadline - time.monotonic()
            if left <= 0 or not self._poll.poll(left * 1000):
                late = ", ".join(str(self._mesh.peers[other]) for other in sorted(missing))
                raise DistBackendError(
                    f"[Rank {self.ranks[self.rank]}] Timed out waiting {self.timeout * 1000:.0f}ms for {late} to take "
                    f"part in {name}"
                )
        finally:
            for other in missing:
                self._poll.unregister(self._links[other].connection)

    def fail(self, why: str) -> None:
        if self._broken is None:
            self._broken = why
            for link in self._links.values():
                link.tell(ABORT, 0, 0, why.encode()[:INLINE])
            self._messages.fail(why)

    def close(self) -> None:
        self._broken = self._broken or "the process group has been destroyed"
        self._messages.close()
        for link in self._links.values():
            link.close()
        self._mesh.close()

    # ---- collectives

    def barrier(self) -> None:
        self._exchange("barrier", 0, [_NOTHING] * self.size)

    def broadcast(self, array: Array, root: int) -> None:
        for _, part, total in _parts(array, _CHUNK):
            mine = part if self.rank == root else _NOTHING
            pieces = self._exchange("broadcast", total, [mine] * self.size)
            if self.rank != root:
                part[...] = pieces[root]

    def all_gather(self, outs: Sequence[Array], array: Array) -> None:
        wholes = [_bytes(out) for out in outs]
        for at, part, total in _parts(array, _CHUNK):
            for whole, piece in zip(wholes, self._exchange("all_gather", total, [part] * self.size), strict=True):
                whole[at : at + part.size] = piece

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> None:
        wholes = [_bytes(out) for out in outs or ()]
        for at, part, total in _parts(array, _CHUNK):
            pieces = self._exchange("gather", total, self._only(root, part))
            for whole, piece in zip(wholes, pieces):
                whole[at : at + part.size] = piece

    def scatter(self, array: Array, pieces: Sequence[Array] | None, root: int) -> None:
        wholes = [_bytes(piece) for piece in pieces or ()]
        for at, part, total in _parts(array, _CHUNK // self.size):
            mine = [whole[at : at + part.size] for whole in wholes] or [_NOTHING] * self.size
            part[...] = self._exchange("scatter", total, mine)[root]

    def all_to_all(self, outs: Sequence[Array], pieces: Sequence[Array]) -> None:
        targets, wholes = [_bytes(out) for out in outs], [_bytes(piece) for piece in pieces]
        step = _CHUNK // self.size
        at, longest = 0, max(whole.size for whole in wholes)
        while at == 0 or at < longest:
            mine = [whole[at : at + step] for whole in wholes]
            theirs = self._exchange("all_to_all", max(whole.size for whole in wholes), mine, even=False)
            longest = self._largest
            for target, piece in zip(targets, theirs, strict=True):
                self._check_size(target[at : at + step], piece)
                target[at : at + step] = piece
            at += step

    def _check_size(self, room: np.ndarray, piece: np.ndarray) -> None:
        if room.size != piece.size:
            why = f"all_to_all: {piece.size} bytes came where rank {self.ranks[self.rank]} expected {room.size}"
            self.fail(why)
            raise DistBackendError(why)

    def reduce(self, array: Array, reduction: Reduction, root: int) -> None:
        for at, part, total in _parts(array, _CHUNK):
            pieces = self._exchange("reduce", total, self._only(root, part))
            if self.rank == root:
                self._fold(reduction, array.dtype, pieces, part, at, total)

    def reduce_scatter(self, out: Array, pieces: Sequence[Array], reduction: Reduction) -> None:
        wholes = [_bytes(piece) for piece in pieces]
        for at, part, total in _parts(out, _CHUNK // self.size):
            theirs = self._exchange("reduce_scatter", total, [whole[at : at + part.size] for whole in wholes])
            self._fold(reduction, out.dtype, theirs, part, self.rank * total + at, self.size * total)

    def all_reduce(self, array: Array, reduction: Reduction) -> None:
        """Each process reduces a part, and hands on what it comes to; of little, each reduces all."""
        dtype = array.dtype
        for at, part, total in _parts(array, _CHUNK):
            if part.size <= _ALONE:
                pieces = self._exchange("all_reduce", total, [part] * self.size)
                self._fold(reduction, dtype, pieces, part, at, total)
                continue
            edges = self._edges(part, dtype.itemsize)
            slices = [part[start:stop] for start, stop in pairwise(edges)]
            mine = slices[self.rank]
            theirs = self._exchange("all_reduce", total, slices)
            self._fold(reduction, dtype, theirs, mine, at + edges[self.rank], total)
            for other, piece in enumerate(self._exchange("all_reduce", total, [mine] * self.size)):
                if other != self.rank:
                    slices[other][...] = piece

    def _fold(
        self, reduction: Reduction, dtype: np.dtype, pieces: Sequence[np.ndarray], out: np.ndarray, at: int, total: int
    ) -> None:
        """Combine what all have from a byte on of so many."""
        ring, room = [piece.view(dtype) for piece in pieces], out.view(dtype)
        where = at // dtype.itemsize, total // dtype.itemsize
        local.state.quiet(fold_as_ring, reduction.combine(np), ring, room, *where)

    def _edges(self, part: np.ndarray, itemsize: int) -> list[int]:
        """Where the bytes are cut into as many parts as there are processes, of whole elements."""
        count = part.size // itemsize
        return [number * count // self.size * itemsize for number in range(self.size + 1)]

    def _only(self, root: int, part: np.ndarray) -> list[np.ndarray]:
        return [part if other == root else _NOTHING for other in range(self.size)]

    # ---- messages

    def send(self, array: Array, to: int, tag: int, done: Done) -> None:
        self._messages.send(_bytes(array), to, tag, done)

    def receive(self, array: Array, source: int | None, tag: int, done: Done) -> None:
        self._messages.receive(_bytes(array), source, tag, done)


def _bytes(array: Any) -> np.ndarray:
    return array.view(np.uint8) if array.size else _NOTHING


def _parts(array: Array, size: int) -> Iterator[tuple[int, np.ndarray, int]]:
    """The bytes of an array in parts of whole elements, where each begins, and how many there are in all.

    Of none, there is one empty part.
    """
    whole = _bytes(array)
    size -= size % 64
    for at in range(0, max(whole.size, 1), size):
        yield at, whole[at : at + size], whole.size
