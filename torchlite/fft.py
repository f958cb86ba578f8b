"""torch.fft: discrete Fourier transforms."""

from __future__ import annotations

from .operations.signals.fourier import fft as _fft

globals().update(_fft)
