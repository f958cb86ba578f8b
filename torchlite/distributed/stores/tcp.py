"""A store in one process's memory, of which the others ask over TCP."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ...core.values import shown_in
from ..errors import DistNetworkError, DistStoreError
from .arguments import checked
from .base import HashStore, Store, Table

_QUESTIONS = frozenset(name for name in vars(Table) if not name.startswith("_"))
_ARRIVED = "init/"  # how many have connected
_LARGEST = 1 << 31


class _Server:
    """Answers every connection from a thread of its own."""

    def __init__(self, listener: socket.socket) -> None:
        self.store, self.listener = HashStore(), listener
        self.port, self._process = listener.getsockname()[1], os.getpid()
        self._connections: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        threading.Thread(target=self._accept, daemon=True, name="TCPStore").start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # closed
            self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True, name="TCPStore").start()

    def _serve(self, connection: socket.socket) -> None:
        will: list[Any] = []  # what is asked when the connection ends, in the name of whom it was to
        with connection, contextlib.suppress(OSError, EOFError, ValueError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                question, *args = _receive(connection)
                if question == "await":
                    answer = self.store._await(*args)
                elif question == "will":
                    will, answer = args, None
                elif question in _QUESTIONS:
                    answer = self.store._ask(question, *args)
                else:
                    return
                _send(connection, answer)
        if will:
            self.store._ask(*will)

    def close(self) -> None:
        if os.getpid() != self._process:
            return  # a forked one, to which it does not belong
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


_servers: weakref.WeakValueDictionary[int, _Server] = weakref.WeakValueDictionary()  # by their ports


@shown_in("torch.distributed")
class TCPStore(Store):
    """A store in the memory of the process that is the master; the others, and itself, ask it over TCP.

    Whoever can connect to the port can read and write: it belongs on a network that only friends are on.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.host, self.libuvBackend = host_name, False
        self._timeout = timeout
        self._server = None
        if is_master:
            shared = _servers.get(port) if multi_tenant else None
            self._server = shared or _Server(_listener(port, master_listen_fd))
            port = self._server.port
            _servers[port] = self._server
            if shared is None:
                weakref.finalize(self, self._server.close)
        self.port = port
        self._lock = threading.Lock()
        self._connection = _connected(host_name, port, timeout.total_seconds())
        weakref.finalize(self, self._connection.close)
        if wait_for_workers and world_size:
            self.add(_ARRIVED, 1)
            if is_master:
                self._await_workers(world_size, timeout.total_seconds())

    def _await_workers(self, world_size: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (arrived := int(self._ask("peek", _ARRIVED))) < world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"Timed out after {seconds:.0f} seconds waiting for clients. {arrived}/{world_size} clients joined."
                )
            time.sleep(0.002)

    def _ask(self, question: str, *args: Any) -> Any:
        try:
            with self._lock:
                _send(self._connection, [question, *args])
                return _receive(self._connection)
        except (OSError, EOFError) as error:
            raise DistNetworkError(
                f"the store at {self.host}:{self.port} does not answer, its process may be gone: {error}"
            ) from None

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        """In short waits, so that other threads can ask in between."""
        deadline = time.monotonic() + seconds
        while not self._ask("await", list(keys), max(0.0, min(0.05, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                return False
        return True

    @checked
    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until so many processes have called this."""
        try:
            super().barrier(key, world_size, timeout)
        except DistStoreError:
            seconds = (timeout or self.timeout).total_seconds()
            raise DistStoreError(f"barrier timeout after {seconds * 1000:.0f}ms, key: {key}") from None

    @checked
    def clone(self) -> TCPStore:
        """The same store over a connection of its own, for use by another thread."""
        return TCPStore(self.host, self.port, timeout=self.timeout)

    def __repr__(self) -> str:
        return f"TCPStore(host={self.host}, port={self.port}, master={self._server is not None})"


def _listener(port: int, descriptor: int | None) -> socket.socket:
    if descriptor is not None:
        return socket.socket(fileno=descriptor)
    try:
        dual = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual else socket.AF_INET
        return socket.create_server(("", port), family=family, dualstack_ipv6=dual, backlog=1024)
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, "
            f"code: -{error.errno}, name: {errno.errorcode.get(error.errno or 0)}, "
            f"message: {os.strerror(error.errno or 0).lower()}"
        ) from None


def _connected(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to a server that may yet have to start."""
    deadline, pause = time.monotonic() + seconds, 0.005
    while True:
        try:
            connection = socket.create_connection((host, port), max(0.001, deadline - time.monotonic()))
        except OSError as error:
            if time.monotonic() + pause > deadline:
                raise DistNetworkError(
                    f"The client socket has timed out after {seconds * 1000:.0f}ms while trying to connect to "
                    f"({host}, {port})."
                ) from error
            time.sleep(pause)
            pause = min(2 * pause, 0.25)
            continue
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _send(connection: socket.socket, message: Any) -> None:
    content = json.dumps(message, default=lambda value: {"": value.decode("latin-1")}).encode()
    connection.sendall(len(content).to_bytes(4, "little") + content)


def _receive(connection: socket.socket) -> Any:
    length = int.from_bytes(_exactly(connection, 4), "little")
    if length > _LARGEST:
        raise ValueError("no message is so long")
    return json.loads(_exactly(connection, length), object_hook=lambda made: made[""].encode("latin-1"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError("the connection was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
