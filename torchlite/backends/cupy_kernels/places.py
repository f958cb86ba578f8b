"""Writing at places that indices name, by atomic operations, and indices that are checked without a wait."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from . import asserts
from .raw import Templates, rows_of_one_type

_SOURCE = r"""
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

template <typename T, template <typename> class How>
__global__ void combine(T* target, const long long* index, const T* values, long long size, long long row) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < size) write<How>(&target[index[at / row] * row + at % row], values[at]);
}

template <typename T>
__global__ void add(T* target, const long long* index, const T* values, long long size, long long row) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < size) atomicAdd(&target[index[at / row] * row + at % row], values[at]);
}
"""
_HOW = {"multiply": ", Multiply", "maximum": ", Larger", "minimum": ", Smaller"}
_kernels = Templates(_SOURCE, (("add", ""), *[("combine", how) for how in _HOW.values()]))
_THREADS = 256


def combine(ufunc: str, target: Any, index: Any, values: Any) -> bool:
    """Combine rows of values with those of the target that a vector of indices names; False for other arrays."""
    rows, values = cupy.ascontiguousarray(target), cupy.ascontiguousarray(values)
    if not rows_of_one_type(rows, values) or not (ufunc == "add" or ufunc in _HOW):
        return False
    given = rows, cupy.ascontiguousarray(index, np.int64), values, values.size, values.size // index.size
    name = "add" if ufunc == "add" else "combine"
    _kernels.launch(name, rows.dtype, -(-values.size // _THREADS), (_THREADS,), given, _HOW.get(ufunc, ""))
    if rows is not target:
        target[...] = rows
    return True


_in_range = cupy.ElementwiseKernel(
    "I index, int64 low, int64 high, int64 found", "",
    "if (index < low || index >= high) wrong((long long*)found, 2, index)",
    "torchlite_in_range", preamble=asserts.SOURCE,
)  # fmt: skip


def assert_in_range(index: Any, low: int, high: int) -> None:
    """Let the next wait for the device raise, if an index lies outside [low, high)."""
    _in_range(index, low, high, int(asserts.places))
