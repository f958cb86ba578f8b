"""Messages from one process of a group to another, found by their tags, on local sockets."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..errors import DistBackendError
from .base import Done
from .mesh import Mesh

_HEAD = struct.Struct("<qQ")  # the tag, or that something failed; bytes
_FAILED = -(1 << 62)
_PORTION = 1 << 20


@dataclass(eq=False)
class _Awaited:
    """A receive that was begun."""

    room: np.ndarray
    source: int | None
    tag: int
    done: Done

    def takes(self, source: int, tag: int) -> bool:
        return tag == self.tag and self.source in (None, source)


@dataclass(eq=False)
class _Line:
    """What goes to, and comes from, one other process."""

    connection: socket.socket
    leaving: deque[tuple[memoryview, Done | None]] = field(default_factory=deque)
    head: bytearray = field(default_factory=bytearray)
    room: np.ndarray | None = None  # for the message that is coming
    filled: int = 0
    tag: int = 0
    awaited: _Awaited | None = None  # who the message is for, if anyone waits for it yet
    gone: bool = False


class Messages:
    """The messages of one group. A thread moves them, from when there is something that cannot be done at once."""

    def __init__(self, mesh: Mesh, rank: int) -> None:
        self._mesh, self._rank = mesh, rank
        self._lines = {other: _Line(connection) for other, connection in mesh.channels["messages"].items()}
        self._lock = threading.RLock()
        self._awaited: list[_Awaited] = []
        self._arrived: list[tuple[int, int, np.ndarray]] = []
        self._thread: threading.Thread | None = None
        self._broken: str | None = None

    # ---- what is asked for

    def send(self, content: np.ndarray, to: int, tag: int, done: Done) -> None:
        with self._lock:
            if self._broken is not None or self._lines[to].gone:
                done(self._error(to), to)
                return
            line = self._lines[to]
            line.leaving.append((memoryview(_HEAD.pack(tag, content.size)), None))
            line.leaving.append((content.data, done))
            self._push(to, line)
            if line.leaving:
                self._wake()

    def receive(self, room: np.ndarray, source: int | None, tag: int, done: Done) -> None:
        wanted = _Awaited(room, source, tag, done)
        with self._lock:
            for place, (other, its_tag, content) in enumerate(self._arrived):
                if wanted.takes(other, its_tag):
                    del self._arrived[place]
                    self._deliver(wanted, other, content)
                    return
            if self._broken is not None or (source is not None and self._lines[source].gone):
                done(self._error(source), -1)
                return
            self._awaited.append(wanted)
            self._wake()

    def fail(self, why: str) -> None:
        with self._lock:
            if self._broken is None:
                self._broken = why
                text = why.encode()
                for other, line in self._lines.items():
                    line.leaving.append((memoryview(_HEAD.pack(_FAILED, len(text)) + text), None))
                    self._push(other, line)
                self._end_all()

    def close(self) -> None:
        with self._lock:
            self._broken = self._broken or "the process group has been destroyed"
            self._end_all()
            if self._thread is not None:
                self._wake()

    def _error(self, other: int | None) -> DistBackendError:
        if self._broken is not None:
            return DistBackendError(self._broken)
        who = "all other ranks are" if other is None else f"{self._mesh.peers[other]} is"
        return DistBackendError(f"{who} gone: ended, or left the group")

    def _end_all(self) -> None:
        for other, line in self._lines.items():
            self._end(other, line)
        for wanted in self._awaited:
            wanted.done(self._error(None), -1)
        self._awaited.clear()

    def _end(self, other: int, line: _Line) -> None:
        """Let nobody wait for one who is gone."""
        line.gone = True
        leaving, line.leaving = line.leaving, deque()
        for _, done in leaving:
            if done is not None:
                done(self._error(other), other)
        waiting = [wanted for wanted in self._awaited if wanted.source == other or self._nobody_left(wanted)]
        if line.awaited is not None:
            waiting.append(line.awaited)
            line.awaited = None
        for wanted in waiting:
            with contextlib.suppress(ValueError):
                self._awaited.remove(wanted)
            wanted.done(self._error(wanted.source), -1)

    def _nobody_left(self, wanted: _Awaited) -> bool:
        return wanted.source is None and all(line.gone for line in self._lines.values())

    # ---- the thread

    def _wake(self) -> None:
        if self._thread is None:
            self._bell, self._ringer = socket.socketpair()
            self._ringer.setblocking(False)
            self._thread = threading.Thread(target=self._run, daemon=True, name="messages")
            self._thread.start()
        with contextlib.suppress(OSError):  # it has enough to wake up for, or has ended
            self._ringer.send(b".")

    def _run(self) -> None:
        others = {line.connection.fileno(): other for other, line in self._lines.items()}
        while True:
            poll = select.poll()
            poll.register(self._bell, select.POLLIN)
            with self._lock:
                if self._broken is not None:
                    break
                for line in self._lines.values():
                    if not line.gone:
                        poll.register(line.connection, select.POLLIN | (select.POLLOUT if line.leaving else 0))
            for descriptor, events in poll.poll():
                if descriptor == self._bell.fileno():
                    self._bell.recv(4096)
                    continue
                other = others[descriptor]
                with self._lock:
                    line = self._lines[other]
                    if events & select.POLLOUT:
                        self._push(other, line)
                    if events & ~select.POLLOUT:
                        self._pull(other, line)
        self._bell.close()
        self._ringer.close()

    def _push(self, other: int, line: _Line) -> None:
        """Send what the system takes at present."""
        while line.leaving:
            rest, done = line.leaving[0]
            try:
                sent = line.connection.send(rest[:_PORTION]) if rest else 0
            except BlockingIOError:
                return
            except OSError:
                return  # gone: what it said last is read first
            if sent < len(rest):
                line.leaving[0] = rest[sent:], done
                continue
            line.leaving.popleft()
            if done is not None:
                done(None, other)

    def _pull(self, other: int, line: _Line) -> None:
        """Read what has come of one message; if that is all of it, deliver it."""
        try:
            if line.room is None:
                part = line.connection.recv(_HEAD.size - len(line.head))
                line.head += part
                count = len(part)
                if len(line.head) == _HEAD.size:
                    self._begin(other, line)
            else:
                count = line.connection.recv_into(line.room[line.filled : line.filled + _PORTION].data)
                line.filled += count
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._end(other, line)
        elif line.room is not None and line.filled == line.room.size:
            self._finish(other, line)

    def _begin(self, other: int, line: _Line) -> None:
        tag, nbytes = _HEAD.unpack(line.head)
        line.head.clear()
        line.tag, line.filled = tag, 0
        line.awaited = next((wanted for wanted in self._awaited if wanted.takes(other, tag)), None)
        if line.awaited is not None:
            self._awaited.remove(line.awaited)
        if line.awaited is not None and line.awaited.room.size >= nbytes:
            line.room = line.awaited.room[:nbytes]
        else:
            line.room = np.empty(nbytes, np.uint8)

    def _finish(self, other: int, line: _Line) -> None:
        room, wanted = line.room, line.awaited
        line.room = line.awaited = None
        assert room is not None
        if line.tag == _FAILED:
            self._broken = self._broken or bytes(room).decode(errors="replace")
            self._end_all()
        elif wanted is None:
            wanted = next((some for some in self._awaited if some.takes(other, line.tag)), None)
            if wanted is None:
                self._arrived.append((other, line.tag, room))
            else:
                self._awaited.remove(wanted)
                self._deliver(wanted, other, room)
        else:
            self._deliver(wanted, other, room)

    def _deliver(self, wanted: _Awaited, other: int, content: np.ndarray) -> None:
        if content.size > wanted.room.size:
            why = f"a message of {content.size} bytes came from {self._mesh.peers[other]}, and there is room for "
            wanted.done(DistBackendError(f"{why}{wanted.room.size}"), other)
            return
        if content.size and not np.may_share_memory(content, wanted.room):
            wanted.room[: content.size] = content
        wanted.done(None, other)
