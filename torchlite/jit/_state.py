"""`torch.jit._state`: whether programs want TorchScript, of which there is none here; packages ask it of themselves."""

from __future__ import annotations

import os


class EnabledProxy:
    """True until `disable()`, or where the environment says that PYTORCH_JIT is 0."""

    def __init__(self) -> None:
        self.enabled = os.environ.get("PYTORCH_JIT", "1") != "0"

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Let `_enabled` be False."""
    _enabled.enabled = False


def enable() -> None:
    """Let `_enabled` be True."""
    _enabled.enabled = True
