"""`torch._C.PyTorchFileWriter`: a file of `torch.save`, written record by record."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..core.memory import UntypedStorage
from .pickler import host_bytes
from .target import top_directory
from .zip_writer import ZipWriter

_OLDEST = 6  # of the versions that stand in a folder of their own


class PyTorchFileWriter:
    """Writes to a path, or to a file open for writing bytes; `write_end_of_file` makes it one that can be read."""

    def __init__(self, name_or_buffer: Any, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        self._own = isinstance(name_or_buffer, str | os.PathLike)
        self._top = top_directory(name_or_buffer)
        folder = os.path.dirname(name_or_buffer) if self._own else ""
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        self._file = open(name_or_buffer, "wb") if self._own else name_or_buffer  # noqa: SIM115  # until its end
        self._zip = ZipWriter(self._file, self._top, storage_alignment, compute_crc32)
        self._written: set[str] = set()
        self._version, self._id, self._finished = 3, "", False

    def archive_name(self) -> str:
        return self._top

    def serialization_id(self) -> str:
        """A digest of what was written, once that is all."""
        return self._id

    def set_min_version(self, version: int) -> None:
        """Say that readers must know this version of the format."""
        self._version = max(self._version, version)

    def get_all_written_records(self) -> set[str]:
        return set(self._written)

    def write_record(self, name: str, data: str | bytes | UntypedStorage, size: int) -> None:
        """Write the first bytes of a text, of bytes, or of a storage."""
        self._add(name)
        held: Any = data.encode() if isinstance(data, str) else data
        if isinstance(data, UntypedStorage):
            held = host_bytes(data)
        self._zip.record(name, memoryview(held).cast("B")[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leave room for a record."""
        self._add(name)
        self._zip.room(name, size)

    def write_end_of_file(self) -> None:
        """Write the version and the directory; nothing can be added then."""
        self._go_on()
        self._finished = True
        self._zip.record(".data/version" if self._version >= _OLDEST else "version", b"%d\n" % self._version)
        if "byteorder" not in self._written:
            self._zip.record("byteorder", sys.byteorder.encode())
        self._id = self._zip.finish()
        if self._own:
            self._file.close()

    def _go_on(self) -> None:
        if self._finished:
            raise RuntimeError("the file is finished: nothing can be written to it")

    def _add(self, name: str) -> None:
        self._go_on()
        if name in self._written:
            raise RuntimeError(f"Tried to serialize file twice: {name}")
        self._written.add(name)
