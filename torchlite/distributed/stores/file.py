"""A store in a file, which processes of one host, or with one file system, open by its name."""

from __future__ import annotations

import contextlib
import os
import struct
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.values import shown_in
from .arguments import checked
from .base import Store, Table

try:
    import fcntl
except ImportError:  # a system without locks on files
    fcntl = None  # type: ignore[assignment]

_READ_ONLY = frozenset(("peek", "check", "num_keys", "list_keys", "queue_len"))
_HEAD = struct.Struct("<II")
_USERS = "efcount/"  # how many processes have the store open; the last one takes the file away


@shown_in("torch.distributed")
class FileStore(Store):
    """A store in a file, to which every process adds what it sets; the last of `world_size` takes the file away."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        if fcntl is None:
            raise NotImplementedError("torchlite has FileStore on POSIX systems only")
        self.path = os.fspath(file_name)
        self._table, self._read = Table(), 0
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.add(_USERS, 1)
        weakref.finalize(self, _leave, self.path, self._file, world_size).atexit = True

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        fcntl.flock(self._file, how)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        """Do again what the others have done since this process last looked."""
        news = os.pread(self._file, max(os.fstat(self._file).st_size - self._read, 0), self._read)
        self._read += len(news)
        for question, args in _records(news):
            getattr(self._table, question)(*args)

    def _ask(self, question: str, *args: Any) -> Any:
        reads = question in _READ_ONLY
        with self._locked(fcntl.LOCK_SH if reads else fcntl.LOCK_EX):
            self._catch_up()
            answer = getattr(self._table, question)(*args)
            if not reads:
                record = _record(question, args)
                os.pwrite(self._file, record, self._read)
                self._read += len(record)
            return answer

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        """Look again and again, ever more seldom."""
        deadline, pause = time.monotonic() + seconds, 0.0005
        while not self._ask("check", list(keys)):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.02)
        return True

    def _late(self, keys: Sequence[str], seconds: float) -> RuntimeError:
        return RuntimeError("Wait timeout")

    @checked
    def get(self, key: str, /) -> bytes:
        """The value under a key, when it has come."""
        if not self._await([key], seconds := self.timeout.total_seconds()):
            raise RuntimeError(f"Timeout waiting for key: {key} after {seconds * 1000:.0f} ms")
        return self._ask("peek", key)

    def has_extended_api(self) -> bool:
        """Whether programs are to count on `append`, `multi_get` and `multi_set`."""
        return False


def _record(question: str, args: tuple[Any, ...]) -> bytes:
    kinds = "".join("b" if isinstance(a, bytes) else "i" if isinstance(a, int) else "s" for a in args).encode()
    parts = [question.encode(), kinds, *(a if isinstance(a, bytes) else str(a).encode() for a in args)]
    content = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    return _HEAD.pack(len(content), len(parts)) + content


def _records(content: bytes) -> Iterator[tuple[str, list[Any]]]:
    at = 0
    while at < len(content):
        _, count = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        parts = []
        for _ in range(count):
            length = int.from_bytes(content[at : at + 4], "little")
            parts.append(content[at + 4 : at + 4 + length])
            at += 4 + length
        kinds = parts[1].decode()
        yield parts[0].decode(), [_READERS[kind](part) for kind, part in zip(kinds, parts[2:], strict=True)]


_READERS: dict[str, Any] = {"b": bytes, "i": int, "s": bytes.decode}


def _leave(path: str, file: int, world_size: int) -> None:
    """Close the file, and take it away if nobody else has it open who was meant to."""
    table = Table()
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        size = os.fstat(file).st_size
        for question, args in _records(os.pread(file, size, 0)):
            getattr(table, question)(*args)
        left = table.add(_USERS + "left", 1)
        os.pwrite(file, _record("add", (_USERS + "left", 1)), size)
        if world_size > 0 and left == world_size:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # which a forked process would keep, that has the file open too
        os.close(file)
