"""Products of matrices, told to cuBLAS itself.

CuPy's functions widen halves or round their sums, copy what lies apart, and refuse streams that are captured. Here
halves go as they are, which is what tensor cores are for, and are summed in float32.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy import cuda  # whose cublas is loaded when it is first asked for

_FLOAT32 = 0  # CUDA_R_32F
_COMPUTE_32F, _COMPUTE_TF32, _COMPUTE_64F = 68, 77, 70  # cublasComputeType_t
_ANY_WAY = -1  # CUBLAS_GEMM_DEFAULT
_ON_HOST = 0  # CUBLAS_POINTER_MODE_HOST
_AS_IT_IS, _TURNED = 0, 1  # CUBLAS_OP_N, CUBLAS_OP_T


class _Kind(NamedTuple):
    """What cuBLAS is told of a type: its cudaDataType_t, and in what it is summed, as are the factors."""

    number: int
    compute: int
    one: np.ndarray
    zero: np.ndarray


def _kind(number: int, compute: int, factors: Any) -> _Kind:
    return _Kind(number, compute, np.ones((), factors), np.zeros((), factors))


# By NumPy's characters of types; "E" is bfloat16.
_KINDS = {
    "e": _kind(2, _COMPUTE_32F, np.float32), "E": _kind(14, _COMPUTE_32F, np.float32),
    "f": _kind(_FLOAT32, _COMPUTE_32F, np.float32), "d": _kind(1, _COMPUTE_64F, np.float64),
    "F": _kind(4, _COMPUTE_32F, np.complex64), "D": _kind(5, _COMPUTE_64F, np.complex128),
}  # fmt: skip
_HALVES = "eE"
_tf32 = False


def use_tf32(allowed: bool) -> None:
    """Whether products of float32 may be taken in TensorFloat-32."""
    global _tf32
    _tf32 = allowed


@functools.cache
def _cublas() -> Any:
    """The library that CuPy has loaded, with the types of the functions that are called here."""
    cuda.device.get_cublas_handle()
    major = cuda.runtime.runtimeGetVersion() // 1000
    found = ctypes.CDLL(f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}")
    i, p, step = ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong
    found.cublasSetStream_v2.argtypes = [p, p]
    found.cublasSetPointerMode_v2.argtypes = [p, i]
    found.cublasGemmEx.argtypes = [p, i, i, i, i, i, p, p, i, i, p, i, i, p, p, i, i, i, i]
    found.cublasGemmStridedBatchedEx.argtypes = [
        p, i, i, i, i, i, p, p, i, i, step, p, i, i, step, p, p, i, i, step, i, i, i
    ]  # fmt: skip
    return found


class _Laid(NamedTuple):
    """Matrices as cuBLAS is told of them, to which those that lie row by row are the turned ones."""

    array: Any  # which keeps the memory
    form: int
    line: int  # from one row, or column, to the next
    step: int  # from one matrix to the next; 0 where one is for all


def _laid(matrices: Any) -> _Laid:
    """Matrices as they lie, if rows or columns are in one piece; else a copy."""
    *batch, rows, columns = matrices.shape
    *_, down, right = [s // matrices.itemsize for s in matrices.strides]
    step = matrices.strides[0] // matrices.itemsize if batch and batch[0] > 1 else 0
    if (right == 1 or columns == 1) and (down >= columns or rows == 1) and step >= 0:
        return _Laid(matrices, _AS_IT_IS, max(down if rows > 1 else 0, columns), step)
    if (down == 1 or rows == 1) and (right >= rows or columns == 1) and step >= 0:
        return _Laid(matrices, _TURNED, max(right if columns > 1 else 0, rows), step)
    return _Laid(cupy.ascontiguousarray(matrices), _AS_IT_IS, columns, rows * columns if batch and batch[0] > 1 else 0)


def _gemm(a: Any, b: Any, made: Any) -> None:
    """Write `a @ b`, of two matrices or as many as there are in `made`."""
    *batch, m, n = made.shape
    kind = _KINDS[a.dtype.char]
    compute = _COMPUTE_TF32 if _tf32 and a.dtype.char in "fF" else kind.compute
    left, right = _laid(b), _laid(a)  # cuBLAS counts columns first
    cublas, handle = _cublas(), cuda.device.get_cublas_handle()
    cublas.cublasSetStream_v2(handle, cuda.get_current_stream().ptr)
    cublas.cublasSetPointerMode_v2(handle, _ON_HOST)
    head = handle, left.form, right.form, n, m, a.shape[-1], kind.one.ctypes.data
    one, other = [(x.array.data.ptr, kind.number, x.line) for x in (left, right)]
    zero, to = kind.zero.ctypes.data, (made.data.ptr, _KINDS[made.dtype.char].number, n)
    if not batch:
        status = cublas.cublasGemmEx(*head, *one, *other, zero, *to, compute, _ANY_WAY)
    else:
        status = cublas.cublasGemmStridedBatchedEx(
            *head, *one, left.step, *other, right.step, zero, *to, m * n, batch[0], compute, _ANY_WAY
        )
    if status:
        raise cuda.cublas.CUBLASError(status)


def _multiplied(a: Any, b: Any, dtype: Any, out: Any = None) -> Any:
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    made = cupy.empty(shape, dtype) if out is None else out
    if not a.shape[-1]:
        made.fill(0)
    elif made.size:
        _gemm(a, b, made)
    return made


def product(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` of matrices, or of batches, one of which may be a matrix for all of the other."""
    if a.dtype.char in _KINDS and a.dtype == b.dtype:
        return _multiplied(a, b, a.dtype, out)
    return cupy.matmul(a, b, out=out)  # integers, which CuPy has kernels for


def unrounded(a: Any, b: Any) -> Any:
    """The same; that of halves is of float32."""
    return _multiplied(a, b, np.float32) if a.dtype.char in _HALVES else NotImplemented


def _rows(array: Any) -> Any:
    return array.reshape((-1, array.shape[-1]))


def _linear(input: Any, weight: Any) -> Any:
    """`input @ weight.T`; that of halves is rounded once."""
    if input.dtype.char not in _KINDS or not input.size:
        return NotImplemented
    return product(_rows(input), weight.T).reshape((*input.shape[:-1], len(weight)))


def _linear_with_bias(bias: Any, input: Any, weight: Any) -> Any:
    """The same plus a bias, before they are rounded."""
    if input.dtype.char not in _KINDS or not input.size:
        return NotImplemented
    halves = input.dtype.char in _HALVES
    made = (unrounded if halves else product)(_rows(input), weight.T)
    rounded = cupy.empty(made.shape, input.dtype) if halves else made
    cupy.add(made, bias, rounded, casting="unsafe")
    return rounded.reshape((*input.shape[:-1], len(weight)))


def _batch(matrices: Any, shape: tuple[int, ...]) -> Any:
    """Matrices as one batch of as many as that shape has, or as one for all."""
    if matrices.ndim == 2:
        return matrices
    return cupy.broadcast_to(matrices, (*shape, *matrices.shape[-2:])).reshape((-1, *matrices.shape[-2:]))


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` for any dimensions but none."""
    if a.dtype.char not in _KINDS or a.dtype != b.dtype or out is not None or 0 in (a.size, b.size):
        return cupy.matmul(a, b, out=out)
    first, second = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])
    shape = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    made = product(first, second) if not shape else product(_batch(first, shape), _batch(second, shape))
    return made.reshape((*shape, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())))


def dot(a: Any, b: Any) -> Any:
    """The same, for vectors and matrices."""
    return matmul(a, b) if a.ndim in (1, 2) and b.ndim in (1, 2) else cupy.dot(a, b)


KERNELS = {"_linear": _linear, "_linear.bias": _linear_with_bias}
