"""Reading the tar files that PyTorch wrote before 0.1.10: members for the storages, the tensors, and the object."""

from __future__ import annotations

import struct
import tarfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import dt
from ..operations.making.pickles import located
from .locations import checked
from .messages import UNSAFE, shown
from .names import StorageType
from .source import Source
from .storages import filled, true_or_false

if TYPE_CHECKING:
    Unpickle = Callable[[Any, Callable[[Any], Any]], Any]

_MEMBERS = ("storages", "tensors", "pickle")
_NOT_TAR = (tarfile.TarError, OSError, ValueError, EOFError)


def read_tar(file: Any, weights_only: bool, restore: Callable[[Any, str], Any], unpickle: Unpickle) -> tuple[bool, Any]:
    """Whether a file is such an archive, and if so the object in it; if not, the position stays where it was.

    `unpickle(file, persistent_load)` reads a pickle, which may run any code: this format is not for strangers' files.
    """
    position = file.tell()
    try:
        if position:
            return False, None
        with tarfile.open(fileobj=file, mode="r:") as archive:
            if weights_only:
                raise RuntimeError(
                    f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {UNSAFE}"
                )
            members = {member.name: member for member in archive}
            if any(name not in members for name in _MEMBERS):
                return False, None
            parts = {name: Source(archive.extractfile(members[name])) for name in _MEMBERS}
            storages = _storages(parts["storages"], restore, unpickle)
            tensors = _tensors(parts["tensors"], storages, unpickle)
            return True, unpickle(parts["pickle"], lambda key: tensors[int(key)])
    except _NOT_TAR:
        return False, None
    finally:
        file.seek(position)


def _no_ids(saved_id: Any) -> Any:
    raise RuntimeError("a persistent id was encountered where there are none")


def _storages(part: Source, restore: Callable[[Any, str], Any], unpickle: Unpickle) -> dict[Any, Any]:
    found: dict[Any, TypedStorage] = {}
    for _ in range(unpickle(part, _no_ids)):
        key, location, type_ = unpickle(part, _no_ids)
        if not isinstance(type_, StorageType):
            raise RuntimeError(f"{shown(type_)} is no class of storages")
        (count,) = struct.unpack("<q", part.read(8))
        memory = filled(part, count * type_.dtype.itemsize)
        raw = UntypedStorage.over(true_or_false(memory) if type_.dtype is dt.bool_ else memory)
        found[key] = TypedStorage(wrap_storage=checked(restore(raw, location)), dtype=type_.dtype)
    for target, root, offset, count in unpickle(part, _no_ids):
        whole = found[root]
        item = whole.dtype.itemsize
        if not 0 <= offset <= offset + count <= len(whole):
            raise RuntimeError(f"the view {shown(target)} leads out of its storage")
        part_of = whole.untyped()[offset * item : (offset + count) * item]
        found[target] = TypedStorage(wrap_storage=part_of, dtype=whole.dtype)
    return found


def _tensors(part: Source, storages: dict[Any, Any], unpickle: Unpickle) -> dict[int, Any]:
    found = {}
    for _ in range(unpickle(part, _no_ids)):
        key, storage_key, _ = unpickle(part, _no_ids)
        (dims,) = struct.unpack("<i4x", part.read(8))
        numbers = struct.unpack(f"<{2 * max(dims, 0) + 1}q", part.read(16 * max(dims, 0) + 8))
        storage = storages[storage_key]
        found[int(key)] = located(storage, storage.dtype, numbers[-1], numbers[:dims], numbers[dims:-1])
    return found
