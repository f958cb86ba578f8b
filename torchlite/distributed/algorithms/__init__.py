"""`torch.distributed.algorithms`: what is made of collectives for training."""

from __future__ import annotations

from ...faces import later
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = later(__name__)
