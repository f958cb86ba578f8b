"""Messages with the memory they speak of: descriptors of pages travel in the same stream.

Elsewhere a receiver has to ask the sender for them; so it need not, and it does not matter if the sender is gone.
"""

from __future__ import annotations

import io
import os
import socket
import threading
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from ..core.memory import SharedPages
from . import reductions

_MOST = 200  # descriptors that are sent at once


class Message(NamedTuple):
    """An object, pickled, and the pages to which the pickle refers by their numbers."""

    content: bytes
    pages: list[SharedPages]


def packed(obj: Any) -> Message:
    pages: list[SharedPages] = []

    def take_along(some: SharedPages) -> tuple[Any, ...]:
        pages.append(some)
        return _arrived, (len(pages) - 1, len(some))

    file = io.BytesIO()
    pickler = ForkingPickler(file)
    if reductions.strategy == "file_descriptor":
        pickler.dispatch_table[SharedPages] = take_along  # the table is its own
    pickler.dump(obj)
    return Message(file.getvalue(), pages)


def send(connection: Any, message: Message) -> None:
    """Send over one end of a duplex pipe."""
    connection.send_bytes(len(message.pages).to_bytes(4, "little") + message.content)
    descriptors = [pages.descriptor for pages in message.pages]
    if descriptors:
        with _socket(connection) as stream:
            for start in range(0, len(descriptors), _MOST):
                socket.send_fds(stream, [b"."], descriptors[start : start + _MOST])


def receive(connection: Any) -> Any:
    """What was sent from the other end; EOFError or ConnectionError if that is gone."""
    content = memoryview(connection.recv_bytes())
    count = int.from_bytes(content[:4], "little")
    descriptors: list[int] = []
    _arriving.descriptors = descriptors
    if count:
        with _socket(connection) as stream:
            while len(descriptors) < count:
                more = socket.recv_fds(stream, 1, min(_MOST, count - len(descriptors)))[1]
                if not more:
                    raise EOFError
                descriptors += more
    try:
        return ForkingPickler.loads(content[4:])
    finally:
        for descriptor in filter(None, descriptors):  # those that nobody took, as something went wrong
            os.close(descriptor)


def hang_up(connection: Any) -> None:
    """Let the other end know at once that this one is gone, whoever may hold copies of it."""
    with _socket(connection) as stream:
        try:
            stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other was faster
    connection.close()


_arriving = threading.local()


def _arrived(number: int, nbytes: int) -> SharedPages:
    descriptor, _arriving.descriptors[number] = _arriving.descriptors[number], None
    return SharedPages(descriptor, nbytes)


def _socket(connection: Any) -> socket.socket:
    return socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)
