"""Numbers with names: `torch.pi` and its kin."""

from math import e, inf, nan, pi

newaxis = None

# What PyTorch was built with: NumPy has LAPACK, and Fourier transforms.
has_lapack = has_spectral = True
has_mkl = has_openmp = False

__all__ = ["e", "has_lapack", "has_mkl", "has_openmp", "has_spectral", "inf", "nan", "newaxis", "pi"]
