"""Embeddings: rows of a matrix, and what comes back to them, without a wait for indices to be checked."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from . import asserts
from .raw import STORED, Templates, rows_of_one_type, summed

_SOURCE = (
    asserts.SOURCE
    + r"""
template <typename S, typename T = SUM(S)>
__global__ void embedding(const S* weight, const long long* indices, S* y, long long size, long long rows,
                          long long width, long long* found) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= size) return;
    const long long row = indices[at / width];
    if (row < 0 || row >= rows) { wrong(found, 2, row); return; }
    y[at] = weight[row * width + at % width];
}

template <typename S, typename T = SUM(S)>
__global__ void embedding_backward(const S* g, const long long* indices, T* out, long long size, long long rows,
                                   long long width, long long padding) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= size) return;
    const long long row = indices[at / width];
    if (row >= 0 && row < rows && row != padding) atomicAdd(&out[row * width + at % width], T(g[at]));
}
"""
)
_kernels = Templates(_SOURCE, (("embedding", ""), ("embedding_backward", "")))
_THREADS = 256


def _embedding(weight: Any, indices: Any, *_: Any) -> Any:
    if not rows_of_one_type(weight) or not indices.size:
        return NotImplemented
    rows, width = weight.shape
    indices = cupy.ascontiguousarray(indices, np.int64)
    made = cupy.empty((*indices.shape, width), weight.dtype)
    given = weight, indices, made, made.size, rows, width, asserts.places()
    _kernels.launch("embedding", weight.dtype, -(-made.size // _THREADS), (_THREADS,), given)
    return made


def _embedding_backward(g: Any, indices: Any, num_weights: int, padding_idx: int, by_freq: bool) -> Any:
    if by_freq or g.dtype not in STORED or not g.size:
        return NotImplemented
    g, indices, width = cupy.ascontiguousarray(g), cupy.ascontiguousarray(indices, np.int64), g.shape[-1]
    made = cupy.zeros((num_weights, width), summed(g.dtype))
    given = g, indices, made, g.size, num_weights, width, padding_idx
    _kernels.launch("embedding_backward", g.dtype, -(-g.size // _THREADS), (_THREADS,), given)
    return made.astype(g.dtype, copy=False)


KERNELS = {"embedding": _embedding, "embedding_dense_backward": _embedding_backward}
