"""Products of halves as they are, summed in float32: what tensor cores are for."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy import cuda  # whose cublas is loaded when it is first asked for

_TYPES = {"e": 2, "E": 14}  # CUDA_R_16F, CUDA_R_16BF
_FLOAT32 = 0  # CUDA_R_32F
_SUMMED_IN_FLOAT32 = 68  # CUBLAS_COMPUTE_32F
_ANY_WAY = -1  # CUBLAS_GEMM_DEFAULT
_ON_HOST = 0  # CUBLAS_POINTER_MODE_HOST
_ONE, _ZERO = np.ones((), np.float32), np.zeros((), np.float32)


def _laid(matrices: Any) -> tuple[Any, int, int]:
    """Matrices, copied where need be, whether they lie column by column, and the step from one row, or column, on."""
    *_, rows, columns = matrices.shape
    if not matrices.flags.c_contiguous and matrices.swapaxes(-1, -2).flags.c_contiguous:
        return matrices, cuda.cublas.CUBLAS_OP_T, rows
    return cupy.ascontiguousarray(matrices), cuda.cublas.CUBLAS_OP_N, columns


def unrounded(a: Any, b: Any) -> Any:
    """`a @ b` in float32, of two matrices or of two batches of as many, in float16 or bfloat16."""
    if a.dtype.char not in _TYPES or a.ndim != b.ndim:
        return NotImplemented
    *batch, m, k = a.shape
    n = b.shape[-1]
    if 0 in (*batch, m, k, n):
        return cupy.zeros((*batch, m, n), np.float32)
    made = cupy.empty((*batch, m, n), np.float32)
    (a, turn_a, step_a), (b, turn_b, step_b) = _laid(a), _laid(b)
    cublas, handle, kind = cuda.cublas, cuda.device.get_cublas_handle(), _TYPES[a.dtype.char]
    alpha, beta = _ONE.ctypes.data, _ZERO.ctypes.data
    left, right = (b.data.ptr, kind, step_b), (a.data.ptr, kind, step_a)  # cuBLAS counts columns first
    mode = cublas.getPointerMode(handle)
    cublas.setPointerMode(handle, _ON_HOST)
    try:
        if not batch:
            cublas.gemmEx(
                handle, turn_b, turn_a, n, m, k, alpha, *left, *right, beta, made.data.ptr, _FLOAT32, n,
                _SUMMED_IN_FLOAT32, _ANY_WAY,
            )  # fmt: skip
        else:
            cublas.gemmStridedBatchedEx(
                handle, turn_b, turn_a, n, m, k, alpha, *left, k * n, *right, m * k, beta, made.data.ptr, _FLOAT32, n,
                m * n, batch[0], _SUMMED_IN_FLOAT32, _ANY_WAY,
            )  # fmt: skip
    finally:
        cublas.setPointerMode(handle, mode)
    return made
