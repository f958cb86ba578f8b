"""Writing pickles with PyTorch's names for what they hold, whatever it is called here.

The pickler in C looks up every name that it writes, so it could not write PyTorch's; this is the one in Python.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..core.memory import TypedStorage, UntypedStorage
from ..core.native import FUNCTIONS
from ..core.values import Shown, dt, memory_format, reduce_ex
from ..core.values.schemes import qscheme
from .locations import location_tag
from .names import Bytes, StorageType, find, name_of, storage_type, storage_type_of

PROTOCOL = 2


class _Names:
    """What makes a Python pickler write PyTorch's names."""

    def reducer_override(self: Any, obj: Any) -> Any:
        kind = type(obj)
        if kind is memory_format:
            raise TypeError(f"cannot pickle {obj}")
        if getattr(kind, "__reduce_ex__", None) is reduce_ex:
            return object.__reduce_ex__(obj, max(self.proto, 2))
        if kind.__module__ == "torch.return_types":
            return kind, (tuple(obj), {})
        return NotImplemented

    def save(self: Any, obj: Any, save_persistent_id: bool = True) -> None:
        super().save(obj.named if type(obj) is Shown else obj, save_persistent_id)  # type: ignore[misc]

    def save_global(self: Any, obj: Any, name: Any = None) -> None:
        torchs = name_of(obj)
        if torchs is None:
            self._save_foreign(obj, name)
            return
        module, qualified = torchs
        if self.proto >= 4:
            self.save(module)
            self.save(qualified)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{qualified}\n".encode())
        self.memoize(obj)

    def _save_foreign(self: Any, obj: Any, name: Any) -> None:
        try:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        except pickle.PicklingError:
            if "<locals>" not in (name or getattr(obj, "__qualname__", "")):
                raise
        pickle.dumps(obj)  # refuses what is local to a function in the words of Python's pickler in C


class _TorchPickler(_Names, pickle._Pickler):
    dispatch: ClassVar[dict[type, Any]] = {
        **pickle._Pickler.dispatch,
        **dict.fromkeys(FUNCTIONS, _Names.save_global),
        dt.dtype: _Names.save_global,
        qscheme: _Names.save_global,
        StorageType: _Names.save_global,
        Bytes: _Names.save_global,
    }


class StorageIds:
    """Numbers the storages that a pickle refers to, in the order in which it comes to them."""

    def __init__(self) -> None:
        self.keys: dict[Any, str] = {}
        self.storages: dict[str, UntypedStorage] = {}
        self._dtypes: dict[int, dt.dtype] = {}

    def __call__(self, obj: Any) -> tuple[Any, ...] | None:
        """The persistent id of a storage; None for anything else."""
        if isinstance(obj, TypedStorage):
            raw, d = obj.untyped(), obj.dtype
            type_ = storage_type_of(d)
        elif isinstance(obj, UntypedStorage):
            raw, d = obj, dt.uint8
            type_ = storage_type_of(None)
        else:
            return None
        location = location_tag(raw)
        address = raw.data_ptr()
        if address and self._dtypes.setdefault(address, d) is not d:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self.keys.setdefault(_identity(raw), str(len(self.keys)))
        self.storages.setdefault(key, raw)
        return ("storage", type_, key, location, raw.nbytes() // type_.dtype.itemsize)


def _identity(raw: UntypedStorage) -> tuple[Any, ...]:
    """What is the same for all storages over one memory; it stays so while they are kept."""
    if raw.nbytes():
        return raw.device, raw.data_ptr()
    memory = raw.bytes
    while isinstance(getattr(memory, "base", None), np.ndarray):
        memory = memory.base
    return raw.device, "empty", id(memory)


def pickler(file: Any, pickle_module: Any, protocol: int, persistent_id: Callable[[Any], Any]) -> Any:
    """A pickler that writes to `file`: with pickle's own, PyTorch finds the names; with another module's, torchlite."""
    if not hasattr(pickle_module, "__name__"):
        raise AttributeError(f"{type(pickle_module).__name__!r} object has no attribute '__name__'")
    if pickle_module is pickle:
        made = _TorchPickler(file, protocol)
        made.persistent_id = persistent_id  # type: ignore[assignment, method-assign]
        return made

    class Pickler(pickle_module.Pickler):
        def reducer_override(self, obj: Any) -> Any:
            torchs = None if obj is find else name_of(obj.named if type(obj) is Shown else obj)
            if torchs is not None:
                return (storage_type if isinstance(obj, StorageType) else find), torchs
            if getattr(type(obj), "__reduce_ex__", None) is reduce_ex:
                return object.__reduce_ex__(obj, max(protocol, 2))
            theirs = getattr(super(), "reducer_override", None)
            return NotImplemented if theirs is None else theirs(obj)

    other = Pickler(file, protocol=protocol)
    other.persistent_id = persistent_id  # not in the class, which would keep it until a collection
    return other


def host_bytes(storage: Any) -> np.ndarray:
    """The bytes of a storage, where they are if that is on the host."""
    return np.ascontiguousarray(storage._backend.to_host(storage.bytes))
