"""Writing the zip files that PyTorch keeps its checkpoints in.

Records are stored as they are, each where its bytes begin at a multiple of the alignment, so that they can be mapped.
Sizes and checksums stand behind the bytes, which therefore are written once, as they come, to whatever has a `write`.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import Any

_LIMIT = 0xFFFFFFFF  # of a 4-byte size, which says that the true one stands in the zip64 field
_CHUNK = 1 << 20  # small enough that checksum and write find the bytes in the processor's cache

_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END64 = struct.Struct("<IQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<IIQI")
_END = struct.Struct("<IHHHHIIH")

_UTF8, _SIZES_FOLLOW = 0x0800, 0x0008


@dataclass(slots=True)
class _Entry:
    name: bytes
    flags: int
    offset: int
    size: int
    crc: int

    def zip64(self) -> bytes:
        """The field for sizes and offsets that do not fit into four bytes."""
        fields = [self.size, self.size] if self.size >= _LIMIT else []
        if self.offset >= _LIMIT:
            fields.append(self.offset)
        return struct.pack(f"<HH{len(fields)}Q", 1, 8 * len(fields), *fields) if fields else b""


class ZipWriter:
    """Writes records under one top directory to `file`."""

    def __init__(self, file: Any, top: str, alignment: int, checksums: bool) -> None:
        self.write = file.write
        self.seek_forward = getattr(file, "seek_forward", None)
        self.top = top
        self.alignment = alignment
        self.checksums = checksums
        self.position = 0
        self.entries: list[_Entry] = []

    def record(self, name: str, data: Any) -> None:
        """Add a record with the bytes of a buffer."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        entry = self._begin(name, view.nbytes)
        if view.nbytes <= _CHUNK:
            self._put(view)
            entry.crc = zlib.crc32(view) if self.checksums else 0
        else:
            for start in range(0, view.nbytes, _CHUNK):
                chunk = view[start : start + _CHUNK]
                if self.checksums:
                    entry.crc = zlib.crc32(chunk, entry.crc)
                self._put(chunk)
        self._end(entry)

    def room(self, name: str, size: int) -> None:
        """Add a record of zeros, for someone to fill."""
        entry = self._begin(name, size)
        if self.seek_forward is not None:
            self.seek_forward(size)
            self.position += size
        else:
            zeros = memoryview(bytes(min(size, _CHUNK)))
            for start in range(0, size, _CHUNK):
                self._put(zeros[: size - start])
        self._end(entry)

    def finish(self) -> str:
        """Add the identification of the contents, which is given, and the directory."""
        digest = hashlib.sha256()
        for e in self.entries:
            digest.update(struct.pack("<QI", e.size, e.crc) + e.name)
        identification = str(int(digest.hexdigest(), 16) % 10**40).zfill(40)
        self.record(".data/serialization_id", identification.encode())
        start = self.position
        for e in self.entries:
            extra = e.zip64()
            size, offset = min(e.size, _LIMIT), min(e.offset, _LIMIT)
            lengths = (len(e.name), len(extra), 0, 0, 0, 0)
            self._put(_CENTRAL.pack(0x02014B50, 0, 0, e.flags, 0, 0, 0, e.crc, size, size, *lengths, offset))
            self._put(e.name + extra)
        size, count = self.position - start, len(self.entries)
        end = self.position
        self._put(_END64.pack(0x06064B50, 44, 0x031E, 45, 0, 0, count, count, size, start))
        self._put(_LOCATOR64.pack(0x07064B50, 0, end, 1))
        counts = (min(count, 0xFFFF),) * 2
        self._put(_END.pack(0x06054B50, 0, 0, *counts, min(size, _LIMIT), min(start, _LIMIT), 0))
        return identification

    def _begin(self, name: str, size: int) -> _Entry:
        path = f"{self.top}/{name}".encode()
        flags = _UTF8 | (_SIZES_FOLLOW if size else 0)
        entry = _Entry(path, flags, self.position, size, 0)
        self.entries.append(entry)
        extra = entry.zip64()
        before = self.position + _LOCAL.size + len(path) + len(extra) + 4
        gap = -before % self.alignment
        self._put(_LOCAL.pack(0x04034B50, 0, 0, flags, 0, 0, 0, 0, 0, len(path), len(extra) + 4 + gap))
        self._put(path + extra + b"FB" + gap.to_bytes(2, "little") + b"Z" * gap)
        return entry

    def _end(self, entry: _Entry) -> None:
        if entry.size:
            wide = entry.size >= _LIMIT or entry.offset >= _LIMIT
            self._put(struct.pack("<IIQQ" if wide else "<IIII", 0x08074B50, entry.crc, entry.size, entry.size))

    def _put(self, data: Any) -> None:
        self.write(data)
        self.position += len(data)
