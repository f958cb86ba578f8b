"""`torch.distributed.algorithms`: what is made of collectives for training."""

from ...faces import later
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = later(__name__)
