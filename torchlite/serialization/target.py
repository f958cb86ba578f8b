"""Where `torch.save` writes to: a path, whose file is replaced when all is written, or an open file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any


def is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


def check_writable(f: Any) -> None:
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def top_directory(f: Any) -> str:
    """The directory in a zip file that its records are in: the file's name without extension, if it is ASCII."""
    if not is_path(f):
        return "archive"
    path = os.fspath(f)
    if not path.isascii():
        return "archive"
    stem = path.replace("\\", "/").rpartition("/")[2]
    stem = stem.rpartition(".")[0] if "." in stem else stem
    if not stem:
        raise RuntimeError(f"invalid file name: {path}")
    return stem


@contextlib.contextmanager
def opened(f: Any) -> Iterator[Any]:
    """A file to write to; at a path, what was there stays until all is written, and for good if that fails."""
    if not is_path(f):
        yield f
        flush = getattr(f, "flush", None)
        if flush is not None:
            flush()
        return
    path = os.path.realpath(f)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f)) or folder} does not exist.")
    special = os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)
    if special or not os.access(folder, os.W_OK):  # there is no putting another file in its place
        with _File(path, "wb") as file:
            yield file
        return
    mode = _mode(path)
    beside = os.path.join(folder, f".torch-save-{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with _File(descriptor, "wb") as file:
            yield file
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _mode(path: str) -> int | None:
    """The permissions of the file at a path, which must be one that may be written to; None if there is none."""
    if not os.path.exists(path):
        return None
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return stat.S_IMODE(os.stat(path).st_mode)


class _File:
    """A file of our own, in which places can be left empty."""

    def __init__(self, where: Any, mode: str) -> None:
        self.file = open(where, mode)  # noqa: SIM115 (closed by __exit__)
        self.write = self.file.write
        self.flush = self.file.flush

    def seek_forward(self, size: int) -> None:
        self.file.seek(size, os.SEEK_CUR)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
