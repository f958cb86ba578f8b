"""torch.fft: discrete Fourier transforms."""

from __future__ import annotations

from .ops.fft import fft as _fft

globals().update(_fft)
