"""`torch.backends.nnpack`: NNPACK, which is not used here."""

from __future__ import annotations

from .flags import switches


def is_available() -> bool:
    return False


enabled = False

set_flags, flags = switches(globals(), enabled=False)
