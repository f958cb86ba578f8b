"""Writing files as PyTorch did before 1.6: pickles one after the other, then the bytes of the storages."""

from __future__ import annotations

import inspect
import io
import pickle
import struct
import sys
from typing import Any

from ..core.memory import UntypedStorage
from ..core.values import warn
from ..nn.modules.module import Module
from .pickler import StorageIds, host_bytes, pickler

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


class _LegacyIds(StorageIds):
    """Storages have one more part here, and the classes of modules are kept with their source."""

    def __init__(self) -> None:
        super().__init__()
        self.itemsizes: dict[str, int] = {}
        self.modules: set[type] = set()

    def __call__(self, obj: Any) -> Any:
        if isinstance(obj, type) and issubclass(obj, Module):
            return self.module(obj)
        found = super().__call__(obj)
        if found is None:
            return None
        self.itemsizes[found[2]] = found[1].dtype.itemsize
        return (*found, None)

    def module(self, cls: type) -> tuple[Any, ...] | None:
        if cls in self.modules:
            return None
        self.modules.add(cls)
        if is_own(cls):
            return ("module", cls, None, None)
        try:
            source: str | None = inspect.getsource(cls)
            file = inspect.getsourcefile(cls)
        except (OSError, TypeError):
            warn(
                f"Couldn't retrieve source code for container of type {cls.__name__}. It won't be checked for "
                "correctness upon loading.",
            )
            source = file = None
        return ("module", cls, file, source)


def is_own(cls: type) -> bool:
    """Whether this is a layer of the library, whose source never was PyTorch's: to compare the two says nothing."""
    return cls.__module__.partition(".")[0] in ("torch", "torchlite")


def write_legacy(obj: object, file: Any, pickle_module: Any, protocol: int) -> None:
    ids = _LegacyIds()
    data = io.BytesIO()
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, SYSTEM):
        pickle.dump(part, data, protocol)
    pickler(data, pickle_module, protocol, ids).dump(obj)
    keys = sorted(ids.storages)
    pickle.dump(keys, data, protocol)
    file.write(data.getbuffer())
    for key in keys:
        raw: UntypedStorage = ids.storages[key]
        file.write(struct.pack("<q", raw.nbytes() // ids.itemsizes[key]))
        file.write(host_bytes(raw).data)
