"""`torch._prims`: what PyTorch's references are made of. Functions are computed by kernels here, and need no such."""

from __future__ import annotations

from . import _prims_common as utils

__all__ = ["utils"]
