"""`torch.multiprocessing.pool`."""

from __future__ import annotations

from multiprocessing.pool import Pool

__all__ = ["Pool"]
