"""`torch.storage`: the memory behind tensors."""

from __future__ import annotations

import io
from typing import Any

from .core.memory import (
    TypedStorage,
    UntypedStorage,
    _get_always_warn_typed_storage_removal,
    _set_always_warn_typed_storage_removal,
    warn_typed_storage_removal,
)

__all__ = [
    "TypedStorage", "UntypedStorage", "_get_always_warn_typed_storage_removal",
    "_set_always_warn_typed_storage_removal",
]  # fmt: skip

_warn_typed_storage_removal = warn_typed_storage_removal


def _load_from_bytes(b: bytes) -> Any:
    """What storages are in PyTorch's plain pickles (not files of `torch.save`): a file of their own each."""
    from .serialization import load

    return load(io.BytesIO(b), weights_only=False)
