"""`torch.PyTorchFileReader`: the records of a file of `torch.save`, one at a time."""

from __future__ import annotations

import os
import weakref
from typing import Any

from ..core.machine import Tensor
from ..core.memory import UntypedStorage
from ..core.values import dt
from ..operations.making.factories import empty
from .bounds import Bounds
from .source import Source
from .zip_reader import ZipReader


class PyTorchFileReader:
    """Reads a path, or a file open for reading bytes."""

    def __init__(self, name_or_buffer: Any) -> None:
        file = name_or_buffer
        if isinstance(file, str | os.PathLike):
            file = open(file, "rb")  # noqa: SIM115  # as long as this reads
            weakref.finalize(self, file.close)
        source = Source(file)
        self._zip = ZipReader(source, Bounds(source.size))

    def get_all_records(self) -> list[str]:
        return [name.partition("/")[2] for name in self._zip.records]

    def has_record(self, name: str) -> bool:
        return name in self._zip

    def get_record(self, name: str) -> bytes:
        return self._zip.read(self._zip.find(name))

    def get_record_size(self, name: str) -> int:
        return self._zip.find(name).size

    def get_record_offset(self, name: str) -> int:
        """Where in the file the bytes of a record begin."""
        return self._zip.place(self._zip.find(name))

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """A tensor of no elements over the memory that holds a record."""
        d = dtype if isinstance(dtype, dt.dtype) else dt.uint8
        storage = UntypedStorage.over(self._zip.array(self._zip.find(name)))
        return empty(0, dtype=d).set_(storage, 0, (0,), (1,))

    def serialization_id(self) -> str:
        return self.get_record(".data/serialization_id").decode()
