"""`torch.storage`: the memory behind tensors."""

from __future__ import annotations

from .core.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
