"""Backends: what computes. `base.py` is the contract.

This is `torch.backends` as well, whose modules (`cudnn`, `mkl`, …) are switches of libraries that PyTorch may use.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import numpy
from .base import Backend, get_backend, register_backend
from .flags import __allow_nonbracketed_mutation, disable_global_flags, flags_frozen, freezable

__all__ = ["Backend", "disable_global_flags", "flags_frozen", "get_backend", "numpy", "register_backend"]

fp32_precision = "none"

# Loaded when first used.
_LATER = frozenset((
    "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized", "xnnpack",
))  # fmt: skip


freezable(globals(), frozenset(("fp32_precision",)))


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"torchlite has no torch.backends.{name} yet (docs/coverage.md lists what there is)")
