"""The exceptions of `torch`."""

from __future__ import annotations

__all__ = ["AcceleratorError", "FatalError", "OutOfMemoryError"]


class OutOfMemoryError(RuntimeError):
    """A device has no more memory."""


class AcceleratorError(RuntimeError):
    """A device failed."""


class FatalError(Exception):
    """An operator told the library that it cannot go on."""


for _class in (OutOfMemoryError, AcceleratorError, FatalError):
    _class.__module__ = "torch"
