"""`torch.nn`, of which there is only `Parameter` so far."""

from __future__ import annotations

from typing import Any

from .parameter import Parameter

__all__ = ["Parameter"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.nn.{name} yet (docs/coverage.md lists what there is)")
