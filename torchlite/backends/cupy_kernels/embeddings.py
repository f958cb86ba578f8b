"""Embeddings: rows of a matrix, one by one or in bags, and what comes back to them; nobody waits for a check."""

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

// A column of a bag: the sum or the mean of the rows that it names, each by its factor, but for those of the padding.
template <typename S, typename T = SUM(S)>
__global__ void bag(const S* weight, const long long* indices, const long long* offsets, const S* factors, S* y,
                    long long* bag_of, long long* counts, long long size, long long bags, long long rows,
                    long long width, long long padding, int mean, long long* found) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= bags * width) return;
    const long long bag = at / width, column = at % width, begin = offsets[bag];
    const long long end = bag + 1 < bags ? offsets[bag + 1] : size;
    if (begin < 0 || end > size || (bag == 0 && begin != 0)) { wrong(found, 4, begin); return; }
    T sum = 0;
    long long count = 0;
    for (long long i = begin; i < end; i++) {
        const long long row = indices[i];
        if (column == 0) bag_of[i] = bag;
        if (row < 0 || row >= rows) { wrong(found, 2, row); return; }
        if (row == padding) continue;
        sum += T(weight[row * width + column]) * (factors ? T(factors[i]) : T(1));
        count++;
    }
    y[at] = mean && count ? sum / count : sum;
    if (column == 0) counts[bag] = count;
}
"""
)
_kernels = Templates(_SOURCE, (("embedding", ""), ("embedding_backward", ""), ("bag", "")))
_SUM, _MEAN = 0, 1  # what is made of bags
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


def _bag(
    weight: Any, indices: Any, offsets: Any, by_freq: bool, mode: int, sparse: bool, factors: Any,
    include_last_offset: bool, padding: int,
) -> Any:  # fmt: skip
    bags = offsets.size - include_last_offset
    if mode > _MEAN or not rows_of_one_type(weight, factors) or not indices.size or bags < 1:
        return NotImplemented
    (rows, width), dtype = weight.shape, np.dtype(np.int64)
    indices, offsets = cupy.ascontiguousarray(indices, dtype), cupy.ascontiguousarray(offsets, dtype)
    made = cupy.empty((bags, width), weight.dtype)
    bag_of, counts = cupy.empty(indices.size, dtype), cupy.empty(bags, dtype)
    given = (
        weight, indices, offsets, factors, made, bag_of, counts, indices.size, bags, rows, width, padding,
        np.int32(mode == _MEAN), asserts.places(),
    )  # fmt: skip
    _kernels.launch("bag", weight.dtype, -(-made.size // _THREADS), (_THREADS,), given)
    if mode == _SUM:
        counts = cupy.zeros(bags, dtype)
    return made, bag_of, counts, counts.copy()


def _bag_rows_backward(g: Any, indices: Any, bags: Any, num_weights: int, padding_idx: int) -> Any:
    return _embedding_backward(g[bags], indices, num_weights, padding_idx, False)


KERNELS = {
    "embedding": _embedding, "embedding_dense_backward": _embedding_backward, "_embedding_bag": _bag,
    "_embedding_bag_rows_backward": _bag_rows_backward,
}  # fmt: skip
