"""`torch.backends.opt_einsum`: how `torch.einsum` orders its products, which it does without that library here."""

from __future__ import annotations

from typing import Any

from .flags import switches

enabled = False
strategy: str | None = None

set_flags, flags = switches(globals(), enabled=None, strategy=None)


def is_available() -> bool:
    return False


def get_opt_einsum() -> Any:
    return None
