"""Numbers with names: `torch.pi` and its kin."""

from __future__ import annotations

from importlib import import_module
from math import e, inf, nan, pi

from .core.values import warn

newaxis = None

# What PyTorch was built with: NumPy has LAPACK, and Fourier transforms.
has_lapack = has_spectral = True
has_mkl = has_openmp = False

__all__ = ["e", "has_lapack", "has_mkl", "has_openmp", "has_spectral", "inf", "nan", "newaxis", "pi"]

_ASKED = {"cuda": "is_built", "cudnn": "is_available", "mkldnn": "is_available", "mps": "is_built"}


def __getattr__(name: str) -> bool:
    """`has_cuda` and its kin, which older programs read."""
    library = name.removeprefix("has_")
    if library == name or library not in _ASKED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    asked = f"backends.{library}"
    warn(f"'{name}' is deprecated, please use 'torch.{asked}.{_ASKED[library]}()'")
    return getattr(import_module(f".{asked}", __package__), _ASKED[library])()
