"""torch.fft: discrete Fourier transforms."""

from .absent import lacking as _lacking
from .core.machine import Tensor as Tensor
from .operations.signals.fourier import fft as _fft

globals().update(_fft)

__getattr__ = _lacking(__name__)
