"""Linear algebra: factorisations of matrices, and batches of them, and what they are good for.

What `torch.linalg` offers stands in `linalg`.
"""

from . import (
    cholesky,
    conjugate_gradients,
    determinants,
    eigen,
    ldl,
    least_squares,
    low_rank,
    lu,
    norms,
    powers,
    products,
    qr,
    solve,
    svd,
    triangular,
)
from .base import LinAlgError, linalg

__all__ = ("LinAlgError", "linalg")
