"""`torch.backends.mha`: whether `MultiheadAttention` may take its fast path, which gives the same here as the other."""

from __future__ import annotations

_fastpath = True


def get_fastpath_enabled() -> bool:
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    global _fastpath
    _fastpath = value
