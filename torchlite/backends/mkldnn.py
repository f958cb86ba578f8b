"""`torch.backends.mkldnn`: switches of oneDNN, which is not used here, so that nothing heeds them."""

from __future__ import annotations

from .flags import switches
from .mkl import VERBOSE_OFF, VERBOSE_ON, verbose

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "set_flags", "flags", "verbose"]

VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"

set_flags, flags = switches(globals(), enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none")


def is_available() -> bool:
    return False
