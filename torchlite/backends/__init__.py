"""Backends: what computes. `base.py` is the contract.

It is `torch.backends` as well: `faces` adds the switches of libraries that PyTorch may use (`cudnn`, `mkl`, …).
"""

from . import numpy
from .base import Backend, get_backend, register_backend

__all__ = ["Backend", "get_backend", "numpy", "register_backend"]
