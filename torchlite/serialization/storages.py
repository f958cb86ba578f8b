"""The storages of a file: loaded when the pickle first names them, and shared by all that name them."""

from __future__ import annotations

import mmap
import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import dt
from ..utils.serialization import config
from .locations import checked
from .messages import shown
from .names import Bytes, Missing, StorageType
from .options import LoadEndianness, here
from .source import room

if TYPE_CHECKING:
    from .source import Source
    from .zip_reader import ZipReader

_LONGEST = (1 << 63) - 1


def decoded(text: Any) -> Any:
    """A string that an older Python may have written as bytes."""
    return text.decode("ascii") if isinstance(text, bytes) else text


def named(saved_id: Any, length: int) -> tuple[StorageType, str, str, int, Any]:
    """The parts of a persistent id: class, key, location, number of elements, and the rest."""
    kind = decoded(saved_id[0]) if isinstance(saved_id, tuple) and saved_id else saved_id
    if kind != "storage":
        raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{shown(kind)}'")
    if len(saved_id) != length:
        raise pickle.UnpicklingError(f"the id of a storage has {len(saved_id)} parts instead of {length}")
    type_, key, location, count = saved_id[1], decoded(saved_id[2]), decoded(saved_id[3]), saved_id[4]
    if isinstance(type_, Missing):
        type_.refuse()
    if type_ is UntypedStorage:
        type_ = Bytes()
    if not isinstance(type_, StorageType) or not isinstance(key, str) or not isinstance(location, str):
        raise pickle.UnpicklingError("the id of a storage must say its class, key and location")
    if count.__class__ is not int or not 0 <= count * type_.dtype.itemsize <= _LONGEST:
        raise RuntimeError(f"a storage cannot have {shown(count)} elements")
    return type_, key, location, count, saved_id[5:]


def filled(source: Source, nbytes: int) -> np.ndarray:
    """The next bytes of a file, in memory that is only asked for if there are so many."""
    if not 0 <= nbytes <= source.left():
        raise RuntimeError(f"a storage is said to have {nbytes} bytes, and {source.left()} are left in the file")
    memory = room(nbytes)
    source.fill(memory)
    return memory


def true_or_false(memory: np.ndarray) -> np.ndarray:
    """The bytes of bools, which are 0 or 1: NumPy relies on that, files may not."""
    return (memory != 0).view(np.uint8) if memory.size and memory.max() > 1 else memory


class ZipStorages:
    """The storages of a zip file."""

    def __init__(
        self, reader: ZipReader, restore: Callable[[Any, str], Any], without_values: bool, pages: Any = None
    ) -> None:
        self.reader = reader
        self.restore = restore
        self.without_values = without_values
        self.pages = pages
        self.swaps = _byte_order(reader) != sys.byteorder
        self.loaded: dict[str, tuple[Any, StorageType, int]] = {}

    def persistent_load(self, saved_id: Any) -> Any:
        type_, key, location, count, _ = named(saved_id, 5)
        known = self.loaded.get(key)
        if known is not None:
            if known[1].name != type_.name or known[2] != count:
                raise RuntimeError(
                    f"the file says of the storage {key} both that it is a {known[1].name} of {known[2]} elements and "
                    f"that it is a {type_.name} of {count}"
                )
            return known[0]
        nbytes = count * type_.dtype.itemsize
        if self.without_values:
            raw = UntypedStorage(nbytes, device="meta")
        else:
            raw = UntypedStorage.over(self._memory(key, nbytes, type_.dtype))
        storage = TypedStorage(wrap_storage=checked(self.restore(raw, location)), dtype=type_.dtype)
        self.loaded[key] = (storage, type_, count)
        return storage

    def _memory(self, key: str, nbytes: int, d: dt.dtype) -> np.ndarray:
        record = self.reader.find(f"data/{key}")
        if record.size != nbytes:
            raise RuntimeError(
                f"record size ({record.size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * "
                "1 bytes/element) for dtype Byte"
            )
        if here.skip_data:
            return np.empty(nbytes, np.uint8)
        if self.pages is None:
            memory = self.reader.array(record)
        else:
            if record.method:
                raise RuntimeError(f"mmap cannot be used with compressed records, and {record.name} is one")
            start = self.reader.place(record)
            memory = np.frombuffer(self.pages, np.uint8, nbytes, start) if nbytes else np.empty(0, np.uint8)
        if self.swaps and d.itemsize > 1:
            memory = memory if self.pages is None else memory.copy()
            UntypedStorage.over(memory).byteswap(d)
        return true_or_false(memory) if d is dt.bool_ else memory


def writes_to_files() -> bool:
    """Whether writing to tensors of a mapped file writes to the file."""
    return config.load.mmap_flags is not None and config.load.mmap_flags == mmap.MAP_SHARED


def mapped_file(file: Any) -> mmap.mmap:
    """All of a file in memory, page by page as it is looked at."""
    flags = config.load.mmap_flags
    if flags is None:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _byte_order(reader: ZipReader) -> str:
    if "byteorder" in reader:
        order = reader.text("byteorder").decode("latin-1")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
        return order
    assumed = config.load.endianness
    return {LoadEndianness.NATIVE: sys.byteorder, LoadEndianness.BIG: "big"}.get(assumed, "little")
