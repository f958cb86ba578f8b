"""One end of a connection over which processes tell each other that data is there, and hand over small ones."""

from __future__ import annotations

import os
import select
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.memory import SharedPages

INLINE = 8192  # bytes that travel in the message itself
_HEAD = struct.Struct("<IIQQqQ")  # what is done, its number, its bytes, this piece's, where, size of new pages
_ALIGNED = 16
ABORT = 0xFFFFFFFF
_IN_MESSAGE = -1


class News(NamedTuple):
    """What another process handed over: a piece of what it does."""

    what: int
    number: int
    total: int
    piece: np.ndarray  # of bytes; good until the next but one is taken


class Window:
    """Pages in which one process lays out what others are to read."""

    def __init__(self) -> None:
        self.pages: SharedPages | None = None
        self.array = np.empty(0, np.uint8)
        self.known: set[int] = set()  # who has been sent them

    def make_room(self, nbytes: int) -> None:
        if nbytes > self.array.size:
            size = 1 << max(16, (nbytes - 1).bit_length())
            self.pages = _fresh(size)
            self.array, self.known = self.pages.array(0, size), set()


def _fresh(nbytes: int) -> SharedPages:
    if not hasattr(os, "memfd_create"):
        return SharedPages.fresh(nbytes)
    descriptor = os.memfd_create("torchlite")  # which no limit on /dev/shm concerns
    os.ftruncate(descriptor, nbytes)
    return SharedPages(descriptor, nbytes)


class Link:
    """The connection to one other process, and its windows as they are seen from here."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.windows: list[np.ndarray] = [np.empty(0, np.uint8)] * 2
        self.closed = False
        self._buffer = bytearray(16 * INLINE)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0
        self._descriptors: list[int] = []

    def tell(self, what: int, number: int, total: int, piece: np.ndarray | bytes) -> None:
        """Hand over a piece in the message itself."""
        nbytes = len(piece)
        head = _HEAD.pack(what, number, total, nbytes, _IN_MESSAGE, 0)
        self._send(b"".join((head, piece, bytes(-(nbytes + _HEAD.size) % _ALIGNED))))  # type: ignore[arg-type]

    def show(self, what: int, number: int, total: int, place: tuple[int, int], window: Window, to: int) -> None:
        """Hand over a piece that lies in this process's window."""
        if to in window.known:
            self._send(_HEAD.pack(what, number, total, place[1], place[0], 0) + bytes(-_HEAD.size % _ALIGNED))
            return
        assert window.pages is not None
        window.known.add(to)
        head = _HEAD.pack(what, number, total, place[1], place[0], window.array.size)
        self._send(head + bytes(-_HEAD.size % _ALIGNED), [window.pages.descriptor])

    def _send(self, message: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send; an end that is gone is found by reading, behind what it said last."""
        rest = memoryview(message)
        while rest:
            try:
                if descriptors:
                    sent = socket.send_fds(self.connection, [rest], descriptors)
                else:
                    sent = self.connection.send(rest)
            except BlockingIOError:
                poll = select.poll()
                poll.register(self.connection, select.POLLOUT)
                poll.poll(1000)
                continue
            except OSError:
                return
            rest, descriptors = rest[sent:], ()

    def take(self) -> News | None:
        """The next that has been handed over, if it has come."""
        news = self._parse()
        if news is None and self._read():
            news = self._parse()
        return news

    def _read(self) -> bool:
        if self._start == self._end:
            self._start = self._end = 0
        elif self._end > len(self._buffer) // 2:
            rest = self._buffer[self._start : self._end]
            self._buffer[: len(rest)] = rest
            self._start, self._end = 0, len(rest)
        try:
            count, more, _, _ = self.connection.recvmsg_into([self._view[self._end :]], 64)
        except BlockingIOError:
            return False
        except OSError:
            count, more = 0, []
        for _, _, content in more:
            self._descriptors += np.frombuffer(content, np.int32).tolist()
        self._end += count
        self.closed |= not count
        return count > 0

    def _parse(self) -> News | None:
        have = self._end - self._start
        if have < _HEAD.size:
            return None
        what, number, total, nbytes, place, grown = _HEAD.unpack_from(self._buffer, self._start)
        at = self._start + _HEAD.size
        if place == _IN_MESSAGE:
            length = _HEAD.size + nbytes + -(nbytes + _HEAD.size) % _ALIGNED
            if have < length:
                return None
            piece = np.frombuffer(self._buffer, np.uint8, nbytes, at)
        else:
            length = _HEAD.size + -_HEAD.size % _ALIGNED
            if have < length:
                return None
            if grown:
                self.windows[number % 2] = SharedPages(self._descriptors.pop(0), grown).array(0, grown)
            piece = self.windows[number % 2][place : place + nbytes]
        self._start += length
        return News(what, number, total, piece)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self.connection.close()


def words(news: News) -> str:
    return bytes(news.piece).decode(errors="replace")
