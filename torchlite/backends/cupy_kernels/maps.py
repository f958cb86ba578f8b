"""Linear maps of dimensions to others, as images are resampled by: all of them in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from .raw import Templates, rows_of_one_type

_SOURCE = r"""
// What the places along a dimension are made of: of elements between two starts, or, without such, of the same one.
template <typename T> struct Map {
    const long long *starts, *places;
    const T* weights;
    long long count, size;
    __device__ long long first(long long row) const { return starts ? starts[row] : row; }
    __device__ long long end(long long row) const { return starts ? starts[row + 1] : row + 1; }
    __device__ long long place(long long k) const { return places ? places[k] : k; }
    __device__ T weight(long long k) const { return weights ? weights[k] : T(1); }
};
template <typename T> struct Maps { Map<T> of[3]; };

template <typename S, typename T = SUM(S)>
__global__ void mapped(const S* x, S* y, long long total, const Maps<T> maps) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= total) return;
    const Map<T> &a = maps.of[0], &b = maps.of[1], &c = maps.of[2];
    long long plane = at, row[3];
    for (int d = 2; d >= 0; d--) {
        row[d] = plane % maps.of[d].count;
        plane /= maps.of[d].count;
    }
    x += plane * a.size * b.size * c.size;
    T sum = 0;
    for (long long i = a.first(row[0]); i < a.end(row[0]); i++) {
        T slice = 0;
        for (long long j = b.first(row[1]); j < b.end(row[1]); j++) {
            const S* line = x + (a.place(i) * b.size + b.place(j)) * c.size;
            T along = 0;
            for (long long k = c.first(row[2]); k < c.end(row[2]); k++) along += line[c.place(k)] * c.weight(k);
            slice += along * b.weight(j);
        }
        sum += slice * a.weight(i);
    }
    y[at] = sum;
}
"""
_kernels = Templates(_SOURCE, (("mapped", ""),))
_THREADS, _DIMS = 256, 3
_MAP = [(name, np.int64) for name in ("starts", "places", "weights", "count", "size")]  # the first are addresses
_MAPS = np.dtype([("of", _MAP, _DIMS)])


def map_stored(x: Any, steps: Sequence[Any]) -> Any:
    """An array mapped along some of its last dimensions."""
    if not rows_of_one_type(x):
        return NotImplemented
    before, shape = _DIMS - x.ndim, [*x.shape]  # the last dimensions of the array are those of the maps
    maps = np.zeros((), _MAPS)
    maps["of"]["count"] = maps["of"]["size"] = (1,) * before + x.shape[max(0, -before) :]
    for axis, _, table in steps:
        of = maps["of"][axis + before]
        shape[axis] = of["count"] = len(table[0]) - 1
        of["starts"], of["places"], of["weights"] = [0 if a is None else a.data.ptr for a in table]
    made = cupy.empty(shape, x.dtype)
    if made.size:
        given = x, made, made.size, maps
        _kernels.launch("mapped", x.dtype, -(-made.size // _THREADS), (_THREADS,), given)
    return made
