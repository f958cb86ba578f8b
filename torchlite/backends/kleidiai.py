"""`torch.backends.kleidiai`: KleidiAI, which is not used here."""

from __future__ import annotations


def is_available() -> bool:
    return False
