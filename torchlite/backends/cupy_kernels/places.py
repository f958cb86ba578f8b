"""Writing at places that indices name, by atomic operations, and indices that are checked without a wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from . import asserts
from .raw import TYPES, Templates, rows_of_one_type

_SOURCE = (
    asserts.SOURCE
    + r"""
template <typename T> struct Add { static __device__ T of(T a, T b) { return a + b; } };
template <typename T> struct Multiply { static __device__ T of(T a, T b) { return a * b; } };
template <typename T> struct Larger { static __device__ T of(T a, T b) { return a != a || a > b ? a : b; } };
template <typename T> struct Smaller { static __device__ T of(T a, T b) { return a != a || a < b ? a : b; } };

// Whether `old` was still there, and is replaced; else it becomes what another thread wrote.
__device__ bool replace(float* at, float& old, float by) {
    const int before = __float_as_int(old), seen = atomicCAS((int*)at, before, __float_as_int(by));
    old = __int_as_float(seen);
    return seen == before;
}
__device__ bool replace(double* at, double& old, double by) {
    typedef unsigned long long bits;
    const bits before = (bits)__double_as_longlong(old);
    const bits seen = atomicCAS((bits*)at, before, (bits)__double_as_longlong(by));
    old = __longlong_as_double(seen);
    return seen == before;
}

template <template <typename> class How, typename T> __device__ void write(T* at, T value) {
    T old = *at;
    while (!replace(at, old, How<T>::of(old, value))) {}
}

// Where a value goes; -1 for an index that another kernel has found out of range.
__device__ long long target_of(const long long* index, long long at, long long row, long long rows) {
    const long long named = index[at / row];
    return named < 0 || named >= rows ? -1 : named * row + at % row;
}
#define EACH_VALUE(at, to) \
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; \
    if (at >= size) return; \
    const long long to = target_of(index, at, row, rows); \
    if (to < 0) return;

template <typename T, template <typename> class How>
__global__ void combine(T* target, const long long* index, const T* values, long long size, long long row,
                        long long rows) {
    EACH_VALUE(at, to)
    write<How>(&target[to], values[at]);
}

template <typename T>
__global__ void add(T* target, const long long* index, const T* values, long long size, long long row, long long rows) {
    EACH_VALUE(at, to)
    atomicAdd(&target[to], values[at]);
}

// Into (outer, rows, inner), where indices may count from the end.
template <typename T>
__global__ void add_along(T* target, const long long* index, const T* values, long long size, long long count,
                          long long rows, long long inner, long long* found) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= size) return;
    const long long named = index[at / inner % count];
    if (named < -rows || named >= rows) { wrong(found, 2, named); return; }
    const long long row = at / inner / count * rows + (named < 0 ? named + rows : named);
    atomicAdd(&target[row * inner + at % inner], values[at]);
}
"""
)
_HOW = {"multiply": ", Multiply", "maximum": ", Larger", "minimum": ", Smaller"}
_kernels = Templates(_SOURCE, (("add", ""), ("add_along", ""), *[("combine", how) for how in _HOW.values()]))
_THREADS = 256


def combine(ufunc: str, target: Any, index: Any, values: Any) -> Any:
    """Combine rows of values with those of the target that a vector of indices names."""
    lines, values = cupy.ascontiguousarray(target), cupy.ascontiguousarray(values)
    if not index.size:
        return None
    if not rows_of_one_type(lines, values, types=TYPES) or not (ufunc == "add" or ufunc in _HOW):
        return NotImplemented
    index = cupy.ascontiguousarray(index, np.int64)
    given = lines, index, values, values.size, values.size // index.size, len(lines)
    name = "add" if ufunc == "add" else "combine"
    _kernels.launch(name, lines.dtype, -(-values.size // _THREADS), (_THREADS,), given, _HOW.get(ufunc, ""))
    if lines is not target:
        target[...] = lines
    return None


_in_range = cupy.ElementwiseKernel(
    "I index, int64 low, int64 high, int64 found", "",
    "if (index < low || index >= high) wrong((long long*)found, 2, index)",
    "torchlite_in_range", preamble=asserts.SOURCE,
)  # fmt: skip


def check_range(index: Any, size: int, error: Any, low: int = 0) -> None:
    """Let the next wait for the device raise, if an index lies outside [low, size)."""
    if index.size:
        _in_range(index, low, size, int(asserts.places))


def accumulate(target: Any, places: Sequence[Any], values: Any) -> Any:
    """Add values to those that one tensor of indices names along a dimension."""
    picked = [dim for dim, place in enumerate(places) if place.__class__ is not slice]
    dim, index = picked[0], places[picked[0]]
    shape = (*target.shape[:dim], *index.shape, *target.shape[dim + 1 :])
    if len(picked) > 1 or index.dtype != np.int64 or not index.size or values.shape != shape:
        return NotImplemented
    index, values = cupy.ascontiguousarray(index), cupy.ascontiguousarray(values)
    if not rows_of_one_type(target, values, types=TYPES):
        return NotImplemented
    rows, inner = target.shape[dim], math.prod(target.shape[dim + 1 :])
    given = target, index, values, values.size, index.size, rows, inner, asserts.places
    _kernels.launch("add_along", target.dtype, -(-values.size // _THREADS), (_THREADS,), given)
    return None
