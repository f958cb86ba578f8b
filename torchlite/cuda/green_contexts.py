"""`torch.cuda.green_contexts`: parts of a GPU, of which CuPy knows nothing."""

from __future__ import annotations

from .unsupported import GreenContext

__all__ = ["GreenContext"]

SUPPORTED = False
