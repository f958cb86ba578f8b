"""Reading the zip files that PyTorch keeps its checkpoints in.

Nothing that such a file says is believed: every place and size is checked against the file before anything is read or
allocated, and what all records take and stand for is paid to its `Bounds` as soon as the directory is read. Checksums
are not looked at, as in PyTorch, which can be told not to write them.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from .bounds import Bounds
from .source import Source, room

_FAILED = "PytorchStreamReader failed "
_HINT = (
    ". This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the "
    "file was modified after saving."
)
_STORED, _DEFLATED = 0, 8
_PIECE = 1 << 20  # bytes that are inflated at a time


def _corrupt(what: str) -> RuntimeError:
    return RuntimeError(_FAILED + what + _HINT)


@dataclass(slots=True)
class Record:
    name: str
    header: int  # where its local header is
    stored: int  # bytes in the file
    size: int  # bytes that they stand for
    method: int
    flags: int


class ZipReader:
    """The records of a zip file, by their names in its top directory."""

    def __init__(self, source: Source, bounds: Bounds) -> None:
        self.source = source
        self.bounds = bounds
        self.records: dict[str, Record] = {}
        self._pickles = 0
        self._read_directory()
        first = next(iter(self.records), None)
        if first is None:
            raise _corrupt("reading zip archive: not a ZIP archive")
        top = first.partition("/")[0]
        for name in self.records:
            if not name.startswith(top + "/"):
                raise RuntimeError(f"file in archive is not in a subdirectory {top}/: {name}")
        self.top = top
        self._check_version()

    def __contains__(self, name: str) -> bool:
        return f"{self.top}/{name}" in self.records

    def text(self, name: str) -> bytes:
        """A small record."""
        record = self.find(name)
        if record.size > 1 << 16:
            raise _corrupt(f"reading file {name}: it is too long")
        return self.read(record)

    def get(self, name: str) -> bytes:
        return self.read(self.find(name))

    def find(self, name: str) -> Record:
        record = self.records.get(f"{self.top}/{name}")
        if record is None:
            raise _corrupt(f"locating file {name}: file not found")
        return record

    def place(self, record: Record) -> int:
        """Where the bytes of a record begin."""
        header = self.source.read_at(record.header, 30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise _corrupt(f"reading file {record.name}: invalid header or archive is corrupted")
        name_length, extra_length = struct.unpack_from("<HH", header, 26)
        name = self.source.read_at(record.header + 30, name_length)
        start = record.header + 30 + name_length + extra_length
        if name.decode("utf-8", "replace") != record.name or start + record.stored > self.source.size:
            raise _corrupt(f"reading file {record.name}: invalid header or archive is corrupted")
        return start

    def array(self, record: Record) -> np.ndarray:
        """The bytes of a record, in memory of their own."""
        start = self.place(record)
        made = room(record.size)
        if record.method == _DEFLATED:
            self._inflate(record, start, made.data)
        else:
            self.source.seek(start)
            self.source.fill(made)
        return made

    def read(self, record: Record) -> bytes:
        start = self.place(record)
        if record.method == _DEFLATED:
            made = bytearray(record.size)
            self._inflate(record, start, memoryview(made))
            return bytes(made)
        return self.source.read_at(start, record.size)

    def _inflate(self, record: Record, start: int, into: memoryview) -> None:
        """Inflate a record into memory of the size that it is said to have."""
        machine, left, done = zlib.decompressobj(-15), record.stored, 0
        self.source.seek(start)
        while not machine.eof:
            packed = machine.unconsumed_tail
            if not packed:
                packed = self.source.read(min(left, _PIECE))
                left -= len(packed)
            try:
                piece = machine.decompress(packed, _PIECE)
            except zlib.error:
                break
            if not (packed or piece) or done + len(piece) > len(into):
                break
            into[done : done + len(piece)] = piece
            done += len(piece)
        if not machine.eof or done != len(into):
            raise _corrupt(f"reading file {record.name}: decompression failed")

    def _check_version(self) -> None:
        if "version" not in self:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  (Could this error message be improved?  If '
                "so, please report an enhancement request to PyTorch.)"
            )
        text = self.text("version").decode("latin-1")
        try:
            version = int(text)
        except ValueError:
            raise RuntimeError(f"Couldn't parse the version {text!r} as Long Long.") from None
        if version < 1:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the minimum supported version for "
                "reading is 1. Your PyTorch script module file is too old. Please regenerate it with latest version of "
                "PyTorch to mitigate this issue."
            )
        if version > 10:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for "
                "reading is 10. The version of your PyTorch installation may be too old, please upgrade PyTorch to "
                "latest version to mitigate this issue."
            )

    # ---- the directory

    def _read_directory(self) -> None:
        start, size, count = self._find_directory()
        data = self.source.read_at(start, size)
        at = 0
        for _ in range(count):
            if at + 46 > len(data) or data[at : at + 4] != b"PK\x01\x02":
                raise _corrupt("reading zip archive: invalid header or archive is corrupted")
            flags, method = struct.unpack_from("<HH", data, at + 8)
            stored, size, *lengths = struct.unpack_from("<IIHHH", data, at + 20)
            (offset,) = struct.unpack_from("<I", data, at + 42)
            extra = at + 46 + lengths[0]
            end = extra + lengths[1] + lengths[2]
            if end > len(data):
                raise _corrupt("reading zip archive: invalid header or archive is corrupted")
            name = data[at + 46 : extra].decode("utf-8", "replace")
            wide = _Wide(data[extra : extra + lengths[1]])
            size = wide.value(size)
            stored = wide.value(stored)
            self._add(Record(name, wide.value(offset), stored, size, method, flags))
            at = end

    def _add(self, record: Record) -> None:
        if record.flags & 0x41:
            raise _corrupt(f"reading zip archive: unsupported encryption ({record.name})")
        if record.method not in (_STORED, _DEFLATED):
            raise _corrupt(f"reading zip archive: unsupported method ({record.name})")
        if (record.method == _STORED and record.stored != record.size) or record.stored > self.source.size:
            raise _corrupt("reading zip archive: invalid header or archive is corrupted")
        self.bounds.claim(record.stored, "records")
        if record.method == _DEFLATED:
            self.bounds.make(record.size)
        if record.name.partition("/")[2].lower() == "data.pkl":
            self._pickles += 1
            if self._pickles > 1:  # one would be loaded here, and another elsewhere, or looked at by who trusts it
                raise _corrupt(f"reading zip archive: there are two records {record.name}")
        self.records.pop(record.name, None)  # of several the last counts; the top directory is named by the first
        self.records[record.name] = record

    def _find_directory(self) -> tuple[int, int, int]:
        """Where the directory is, its length, and how many entries it has."""
        if self.source.size < 22:
            raise _corrupt("reading zip archive: not a ZIP archive")
        tail_start = max(self.source.size - (1 << 16) - 22, 0)
        tail = self.source.read_at(tail_start, self.source.size - tail_start)
        at = tail.rfind(b"PK\x05\x06", 0, len(tail) - 18)
        if at < 0:
            raise _corrupt("reading zip archive: failed finding central directory")
        count, size, offset = struct.unpack_from("<HII", tail, at + 10)
        end = tail_start + at
        locator = self.source.read_at(end - 20, 20)
        if end >= 20 and locator[:4] == b"PK\x06\x07":
            (size64,) = struct.unpack_from("<Q", locator, 8)
            for end64 in (end - 20 - 56, size64):
                record = self.source.read_at(end64, 56)
                if record[:4] == b"PK\x06\x06" and len(record) == 56:
                    count, size, offset = struct.unpack_from("<QQQ", record, 32)
                    end = end64
                    break
            else:
                raise _corrupt("reading zip archive: invalid header or archive is corrupted")
        if offset + size > end or count * 46 > size:
            raise _corrupt("reading zip archive: invalid header or archive is corrupted")
        return offset, size, count


class _Wide:
    """The 8-byte numbers that replace 4-byte ones that say so, in their order."""

    def __init__(self, extra: bytes) -> None:
        self.numbers: list[int] = []
        at = 0
        while at + 4 <= len(extra):
            kind, length = struct.unpack_from("<HH", extra, at)
            if kind == 1:
                body = extra[at + 4 : at + 4 + length]
                self.numbers = list(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))[::-1]
            at += 4 + length

    def value(self, narrow: int) -> int:
        if narrow != 0xFFFFFFFF:
            return narrow
        if not self.numbers:
            raise _corrupt("reading zip archive: invalid header or archive is corrupted")
        return self.numbers.pop()
