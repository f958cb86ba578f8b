"""`torch.multiprocessing.pool`."""

from multiprocessing.pool import Pool

__all__ = ["Pool"]
