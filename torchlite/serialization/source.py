"""Where `torch.load` reads from: a file whose length is known, so that nothing beyond its end is asked for."""

from __future__ import annotations

import io
import mmap
import os
from typing import Any

import numpy as np

_CUT = "unexpected EOF, expected {} more bytes. The file might be corrupted."


_MUCH = 1 << 20  # bytes, of which the pages are worth asking for at once


def room(nbytes: int) -> np.ndarray:
    """Memory to read into. Where it is much, its pages are made all at once, not as each is first touched."""
    if nbytes >= _MUCH and hasattr(mmap, "MAP_POPULATE"):
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
        try:
            return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), np.uint8)
        except OSError:
            pass  # NumPy says how much memory was wanted
    return np.empty(nbytes, np.uint8)


class Source:
    """The bytes of a file-like object from its present position on."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.start = file.tell()
        self.size = file.seek(0, os.SEEK_END) - self.start
        self._readinto = getattr(file, "readinto", None)
        self.seek(0)

    def seek(self, position: int) -> None:
        """Go to a position, counted from where the source begins."""
        self.file.seek(self.start + position)

    def tell(self) -> int:
        return self.file.tell() - self.start

    def left(self) -> int:
        return self.size - self.tell()

    def read_at(self, position: int, count: int) -> bytes:
        """Some bytes; fewer than asked for at the end."""
        if count <= 0 or not 0 <= position < self.size:
            return b""
        self.seek(position)
        return self.file.read(min(count, self.size - position))

    def fill(self, array: np.ndarray) -> None:
        """Fill a flat array of bytes with what comes next."""
        view, done = array.data, 0
        while done < len(view):
            if self._readinto is not None:
                count = self._readinto(view[done:])
            else:
                chunk = self.file.read(min(len(view) - done, 1 << 24))
                count = len(chunk)
                view[done : done + count] = chunk
            if not count:
                raise RuntimeError(_CUT.format(len(view) - done))
            done += count

    # What unpickling reads by: a claim of more than there is allocates nothing.

    def read(self, count: int = -1) -> bytes:
        if count > 1 << 16:
            count = min(count, self.left())
        return self.file.read(count)

    def readline(self, limit: int = -1) -> bytes:
        return self.file.readline(limit)


def check_seekable(f: Any) -> None:
    """AttributeError or UnsupportedOperation for what cannot be loaded from."""
    try:
        f.seek(f.tell())
        for name in ("read", "readline"):
            getattr(f, name)
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
