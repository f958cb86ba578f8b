"""The forms of factors of matrices, whose kernels look at values.

LAPACK leaves matrices column by column, and so results are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .array import MetaArray, fresh


def _columns(*shape: int, dtype: Any) -> MetaArray:
    """Matrices that lie column by column."""
    *batch, rows, cols = shape
    return fresh((*batch, cols, rows), dtype).swapaxes(-1, -2)


def _real(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def _complex(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.complex64 if dtype.char in "efF" else np.complex128)


def _svd(a: MetaArray, full_matrices: bool, compute_uv: bool, _: Any) -> tuple[MetaArray, ...]:
    *batch, rows, cols = a.shape
    k = min(rows, cols)
    values = fresh((*batch, k), _real(a.dtype))
    if not compute_uv:
        return fresh((0,), a.dtype), values, fresh((0,), a.dtype)
    left = _columns(*batch, rows, rows if full_matrices else k, dtype=a.dtype)
    return left, values, _columns(*batch, cols if full_matrices else k, cols, dtype=a.dtype)


def _alike(a: MetaArray, *_: Any) -> MetaArray:
    return _columns(*a.shape, dtype=a.dtype)


def _eigenvalues(a: MetaArray) -> MetaArray:
    return fresh(a.shape[:-1], _complex(a.dtype))


def _pivots(a: MetaArray) -> MetaArray:
    return fresh((*a.shape[:-2], min(a.shape[-2:])), np.int32)


def _info(a: MetaArray) -> MetaArray:
    return fresh(a.shape[:-2], np.int32)


def _triangles(a: MetaArray) -> tuple[MetaArray, MetaArray]:
    *batch, rows, cols = a.shape
    k = min(rows, cols)
    return fresh((*batch, rows, k), a.dtype), fresh((*batch, k, cols), a.dtype)


def _packed(a: MetaArray, *_: Any) -> tuple[MetaArray, MetaArray, MetaArray]:
    return _alike(a), _pivots(a), _info(a)


KERNELS: dict[str, Callable[..., Any]] = {
    "_linalg_svd": _svd,
    "linalg_cholesky_ex": lambda a, *_: (_alike(a), _info(a)),
    **dict.fromkeys(("_cholesky", "_cholesky_inverse", "_linalg_cholesky"), _alike),
    "linalg_eig": lambda a: (_eigenvalues(a), _columns(*a.shape, dtype=_complex(a.dtype))),
    "_linalg_eigvals": _eigenvalues,
    **dict.fromkeys(("_lu_factor_ex", "_linalg_ldl_factor_ex"), _packed),
    "_linalg_lu": lambda a, _: (_pivots(a), *_triangles(a)),
    "_lu_permutation": lambda pivots, rows: fresh((*pivots.shape[:-1], rows, rows), bool),
    "_linalg_ldl_solve": lambda ld, pivots, b, _: _alike(b),
    "linalg_matrix_exp": lambda a: fresh(a.shape, a.dtype),
}
