"""Connections between all processes of a group on one host: local sockets, which the system closes when one dies."""

from __future__ import annotations

import functools
import json
import os
import platform
import secrets
import select
import socket
import struct
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence

from ..errors import DistBackendError
from ..stores import Store

_HELLO = struct.Struct("<IIQ16s")  # rank, channel, process, and the secret of whoever is connected to
CHANNELS = ("collectives", "messages")


class Peer:
    """Another process of the group."""

    def __init__(self, rank: int, process: int) -> None:
        self.rank, self.process = rank, process

    def __str__(self) -> str:
        return f"rank {self.rank} (process {self.process})"


class Mesh:
    """One connection to each other process of a group, for each channel; peers by their numbers in the group."""

    def __init__(self, store: Store, rank: int, ranks: Sequence[int], seconds: float) -> None:
        self.peers: dict[int, Peer] = {}
        self.channels: dict[str, dict[int, socket.socket]] = {name: {} for name in CHANNELS}
        self._rank, self._ranks, self._deadline = rank, ranks, time.monotonic() + seconds
        with _listener() as listener:
            self._secret = secrets.token_bytes(16)
            about = {"host": _host(), "at": listener.getsockname(), "name": platform.node(), "key": self._secret.hex()}
            store.set(str(rank), json.dumps(about, default=lambda name: name.decode("latin-1")))
            others = [json.loads(store.get(str(other))) for other in range(len(ranks))]
            self._check_hosts(others)
            for other in range(rank):
                self._connect(other, others[other]["at"], bytes.fromhex(others[other]["key"]))
            self._accept(listener)
            if not _ABSTRACT:
                os.unlink(listener.getsockname())
        _meshes.add(self)

    def _check_hosts(self, others: Sequence[dict[str, str]]) -> None:
        for other, about in enumerate(others):
            if about["host"] != _host():
                raise DistBackendError(
                    f"ranks {self._ranks[self._rank]} and {self._ranks[other]} are on different hosts "
                    f"({platform.node()} and {about['name']}), which torchlite connects by MPI: install "
                    f"'torchlite-numpy[mpi]', and start the program with `mpiexec -n {len(others)} --hosts … "
                    f"python -m torchlite {os.path.basename(sys.argv[0]) or 'script.py'}`"
                )

    def _connect(self, other: int, address: str, secret: bytes) -> None:
        for number, name in enumerate(CHANNELS):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(max(0.001, self._deadline - time.monotonic()))
            try:
                connection.connect(address.encode("latin-1") if _ABSTRACT else address)
                connection.sendall(_HELLO.pack(self._rank, number, os.getpid(), secret))
                process = _HELLO.unpack(connection.recv(_HELLO.size, socket.MSG_WAITALL))[2]
            except (OSError, struct.error) as error:
                raise DistBackendError(
                    f"rank {self._ranks[other]} is gone: it cannot be connected to ({error})"
                ) from None
            self._add(name, other, process, connection)

    def _accept(self, listener: socket.socket) -> None:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        expected = len(CHANNELS) * (len(self._ranks) - 1)
        while sum(map(len, self.channels.values())) < expected:
            left = self._deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                missing = [self._ranks[o] for o in range(len(self._ranks)) if o != self._rank and o not in self.peers]
                raise DistBackendError(f"Timed out waiting for ranks {missing} to connect")
            connection, _ = listener.accept()
            connection.settimeout(max(0.001, left))
            hello = connection.recv(_HELLO.size, socket.MSG_WAITALL)
            if len(hello) < _HELLO.size or not secrets.compare_digest(hello[-16:], self._secret):
                connection.close()  # no member of the group
                continue
            other, number, process, _ = _HELLO.unpack(hello)
            connection.sendall(_HELLO.pack(self._rank, number, os.getpid(), bytes(16)))
            self._add(CHANNELS[number], other, process, connection)

    def _add(self, channel: str, other: int, process: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.channels[channel][other] = connection
        self.peers[other] = Peer(self._ranks[other], process)

    def close(self) -> None:
        for connections in self.channels.values():
            for connection in connections.values():
                connection.close()


_ABSTRACT = sys.platform == "linux"  # which has names of sockets that are no files
_meshes: weakref.WeakSet[Mesh] = weakref.WeakSet()


def _listener() -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    token = f"torchlite-{secrets.token_hex(16)}"
    listener.bind(f"\0{token}" if _ABSTRACT else os.path.join(tempfile.gettempdir(), token))
    listener.listen(1024)
    return listener


@functools.cache
def _host() -> str:
    """What processes have in common that can connect to each other so."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return f"{boot.read().strip()} {os.stat('/proc/self/ns/net').st_ino}"
    except OSError:
        return platform.node()


def _close_in_child() -> None:
    """A forked process is no member: were its copies open, nobody would notice the member's death."""
    for mesh in _meshes:
        mesh.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
