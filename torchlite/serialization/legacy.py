"""Reading files as PyTorch wrote them before 1.6: pickles one after the other, then the bytes of the storages.

Their pickles name storages before their bytes are read, so these are made first, and filled last. They can be views
of one another.
"""

from __future__ import annotations

import difflib
import inspect
import pickle
import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import Told, dt, warn
from .legacy_writer import MAGIC_NUMBER, PROTOCOL_VERSION, is_own
from .locations import checked
from .messages import shown
from .storages import decoded, named, true_or_false

if TYPE_CHECKING:
    from .bounds import Bounds
    from .names import StorageType
    from .source import Source


class SourceChangeWarning(Told, Warning):
    """The source of a module's class is not what it was when the module was saved."""


class _Root:
    """A storage with memory of its own, to be filled."""

    def __init__(self, raw: UntypedStorage, d: dt.dtype, location: str) -> None:
        self.raw = raw
        self.dtype = d
        self.location = location
        self.filled = False


class LegacyStorages:
    """The storages of one file."""

    def __init__(
        self, source: Source, bounds: Bounds, restore: Callable[[Any, str], Any], without_values: bool
    ) -> None:
        self.source = source
        self.bounds = bounds
        self.restore = restore
        self.without_values = without_values
        self.roots: dict[str, _Root] = {}
        self.views: dict[str, UntypedStorage] = {}

    def persistent_load(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and saved_id and saved_id[0] in ("module", b"module"):
            return _module_class(*saved_id[1:])
        type_, key, location, count, (view,) = named(saved_id, 6)
        root = self._root(key, type_, count, location)
        raw = root.raw if view is None else self._view(root, type_, view)
        return raw if type_.name == "UntypedStorage" else TypedStorage(wrap_storage=raw, dtype=type_.dtype)

    def _root(self, key: str, type_: StorageType, count: int, location: str) -> _Root:
        known = self.roots.get(key)
        size = count * type_.dtype.itemsize
        if known is not None:
            if known.raw.nbytes() != size:
                raise RuntimeError(f"the file says different things of the storage {key}")
            return known
        if self.without_values or location == "meta":
            raw = UntypedStorage(size, device="meta")
        else:
            self.bounds.claim(size, "storages")
            raw = UntypedStorage.over(np.zeros(size, np.uint8))
        # Where it goes in the end must be known before tensors are made of it.
        moved = checked(self.restore(raw, location))
        made = self.roots[key] = _Root(moved, type_.dtype, location)
        return made

    def _view(self, root: _Root, type_: StorageType, view: Any) -> UntypedStorage:
        offset: Any
        count: Any
        key, offset, count = view if isinstance(view, tuple) and len(view) == 3 else (None, None, None)
        key = decoded(key)
        if not isinstance(key, str) or not all([n.__class__ is int and n >= 0 for n in (offset, count)]):
            raise pickle.UnpicklingError("a view of a storage must be given by key, offset and size")
        if key not in self.views:
            item = type_.dtype.itemsize
            if (offset + count) * item > root.raw.nbytes():
                raise RuntimeError(f"the view {key} leads out of its storage")
            self.views[key] = root.raw[offset * item : (offset + count) * item]
        return self.views[key]

    def fill(self, keys: Any) -> None:
        """Read the bytes of the storages, which follow in the order of these keys."""
        if not isinstance(keys, list):
            raise pickle.UnpicklingError("a list of the keys of storages must follow the object")
        for key in keys:
            root = self.roots.get(key) if isinstance(key, str) else None
            if root is None:
                raise RuntimeError(f"storage key {shown(key)} not found in deserialized_objects")
            self._fill(root)
        left_out = [key for key, root in self.roots.items() if not root.filled]
        if left_out:
            raise RuntimeError(f"the file has no bytes for the storage {left_out[0]}")

    def _fill(self, root: _Root) -> None:
        head = self.source.read(8)
        if len(head) < 8:
            raise RuntimeError(f"unexpected EOF, expected {8 - len(head)} more bytes. The file might be corrupted.")
        (count,) = struct.unpack("<q", head)
        raw, item = root.raw, root.dtype.itemsize
        if count * item != raw.nbytes():
            raise RuntimeError(f"storage has wrong byte size: expected {raw.nbytes()} got {count * item}")
        root.filled = True
        if raw.device.type == "meta":
            self.source.seek(self.source.tell() + raw.nbytes())
            return
        on_host = raw.device.type == "cpu"
        memory = raw.bytes if on_host else np.empty(raw.nbytes(), np.uint8)
        self.source.fill(memory)
        if sys.byteorder != "little":
            UntypedStorage.over(memory).byteswap(root.dtype)
        if root.dtype is dt.bool_:
            memory[...] = true_or_false(memory)
        if not on_host:
            raw.copy_(UntypedStorage.over(memory))


def read_legacy(
    source: Source, bounds: Bounds, unpickle: Callable[[Callable[[Any], Any]], Any], restore: Callable[[Any, str], Any],
    without_values: bool,
) -> Any:  # fmt: skip
    """The object in a file of stacked pickles. `unpickle(persistent_load)` reads the next one."""
    storages = LegacyStorages(source, bounds, restore, without_values)
    magic = unpickle(_no_ids)
    if not isinstance(magic, int) or magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle(_no_ids)
    if not isinstance(version, int) or version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {shown(version)}")
    unpickle(_no_ids)  # what system wrote it, which says nothing that is needed
    result = unpickle(storages.persistent_load)
    storages.fill(unpickle(_no_ids))
    return result


def _no_ids(saved_id: Any) -> Any:
    raise pickle.UnpicklingError("a persistent id was encountered where there are none")


def _module_class(cls: Any, file: str | None = None, source: str | None = None) -> Any:
    """The class of a saved module, with a warning if its source has changed since."""
    if is_own(cls):
        return cls
    try:
        now = inspect.getsource(cls)
    except (OSError, TypeError):
        return cls
    if source is not None and now != source:
        name = f"{cls.__module__}.{cls.__qualname__}"
        advice = _patched(cls, file or "", now, source) if getattr(cls, "dump_patches", False) else _ADVICE
        warn(f"source code of class '{name}' has changed. {advice}", SourceChangeWarning)
    return cls


_ADVICE = (
    "you can retrieve the original source code by accessing the object's source attribute or set "
    "`torch.nn.Module.dump_patches = True` and use the patch tool to revert the changes."
)


def _patched(cls: type, file: str, now: str, then: str) -> str:
    """Write a patch from the present source to the former, as `dump_patches` wishes; what to say of it."""
    patch = "\n".join(difflib.unified_diff(now.split("\n"), then.split("\n"), file, file, lineterm=""))
    name = f"{cls.__name__}.patch"
    try:
        with open(name, "a+") as out:
            out.seek(0)
            there = out.read()
            if there not in ("", patch):
                raise OSError("there is another patch of this name")
            if not there:
                out.write(patch)
    except OSError:
        return (
            f"Tried to save a patch, but couldn't create a writable file {name}. Make sure it doesn't exist and your "
            "working directory is writable."
        )
    return f"Saved a reverse patch to {name}. Run `patch -p0 < {name}` to revert your changes."
