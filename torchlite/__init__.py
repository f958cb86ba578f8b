"""PyTorch's Python surface over NumPy, CuPy, and whatever backend is registered."""

from __future__ import annotations

from . import autograd, ops
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .core import dtype as _dtype
from .core.op import functions as _functions
from .core.tensor import Tensor

globals().update(_dtype.NAMES, bool=_dtype.bool_)
globals().update(_functions)
