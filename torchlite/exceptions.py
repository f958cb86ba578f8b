"""The exceptions of `torch`."""

from .core.values import Told, shown_in

__all__ = ["AcceleratorError", "FatalError", "OutOfMemoryError"]


@shown_in("torch")
class OutOfMemoryError(Told, RuntimeError):
    """A device has no more memory."""


@shown_in("torch")
class AcceleratorError(Told, RuntimeError):
    """A device failed."""


@shown_in("torch")
class FatalError(Told, Exception):
    """An operator told the library that it cannot go on."""
