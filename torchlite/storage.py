"""`torch.storage`: the memory behind tensors."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from .core.memory import (
    TypedStorage,
    UntypedStorage,
    _get_always_warn_typed_storage_removal,
    _set_always_warn_typed_storage_removal,
    warn_typed_storage_removal,
)
from .core.values import means_this

__all__ = [
    "TypedStorage", "UntypedStorage", "_get_always_warn_typed_storage_removal",
    "_set_always_warn_typed_storage_removal",
]  # fmt: skip

_warn_typed_storage_removal = warn_typed_storage_removal


def _in_pickles(memory: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The `__reduce__` of storages: their memory, or the file that PyTorch has for it where its names are written."""

    def __reduce__(self: Any) -> Any:
        if not means_this():
            return memory(self)
        from .serialization import save

        file = io.BytesIO()
        save(self, file, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (file.getvalue(),)

    return __reduce__


_kind: Any
for _kind in (TypedStorage, UntypedStorage):
    _kind.__reduce__ = _in_pickles(_kind.__reduce__)


def _load_from_bytes(b: bytes) -> Any:
    """What storages are in PyTorch's plain pickles (not files of `torch.save`): a file of their own each."""
    from .serialization import load

    return load(io.BytesIO(b), weights_only=False)
