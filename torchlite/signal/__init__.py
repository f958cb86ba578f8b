"""torch.signal: what signals are looked at through."""

from . import windows as windows

__all__ = ["windows"]
