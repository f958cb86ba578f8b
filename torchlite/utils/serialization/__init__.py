"""`torch.utils.serialization`: how files are written and read, for code that prefers settings to arguments."""

from . import config

__all__ = ["config"]
