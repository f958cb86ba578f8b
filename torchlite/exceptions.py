"""The exceptions of `torch`."""

from .core.values import Told, bear_name

__all__ = ["AcceleratorError", "FatalError", "OutOfMemoryError"]


class OutOfMemoryError(Told, RuntimeError):
    """A device has no more memory."""


class AcceleratorError(Told, RuntimeError):
    """A device failed."""


class FatalError(Told, Exception):
    """An operator told the library that it cannot go on."""


for _class in (OutOfMemoryError, AcceleratorError, FatalError):
    bear_name(_class, "torch")
