"""Writing at places that indices name, by atomic operations, and indices that are checked without a wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np

from . import asserts
from .raw import STORED, TYPES, Templates, rows_of_one_type

_NOWHERE = "#define NOWHERE (-0x7fffffffffffffffLL - 1)\n"  # an index that another kernel has found out of range
_SOURCE = (
    asserts.SOURCE
    + _NOWHERE
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

__device__ void add_at(float* at, float value) { atomicAdd(at, value); }
__device__ void add_at(double* at, double value) { atomicAdd(at, value); }
// Halves are written in words of two, of which the other stays.
template <typename S> __device__ void add_at(S* at, S value) {
    unsigned int* word = (unsigned int*)((size_t)at & ~(size_t)3);
    const int shift = (size_t)at & 2 ? 16 : 0;
    unsigned int seen = *word, before;
    do {
        before = seen;
        const unsigned short bits = before >> shift;
        S sum;
        memcpy(&sum, &bits, 2);
        sum = float(sum) + float(value);
        unsigned short made;
        memcpy(&made, &sum, 2);
        seen = atomicCAS(word, before, (before & ~(0xffffu << shift)) | (unsigned int)made << shift);
    } while (seen != before);
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

// Elements that indices name along a dimension. `mine` are the steps, in each dimension of what is named, among the
// elements picked from or put to, `theirs` among the values put, `along` among the indices; `step` is that of an index.
struct Places { long long dims, size[8], mine[8], theirs[8], along[8], step, rows, low; };

// Whether there is an element `at`; then it becomes where the element lies, and `value` where the value does.
__device__ bool find(const Places& p, const long long* index, long long& at, long long& value, long long* found) {
    long long mine = 0, along = 0;
    value = 0;
    for (int d = p.dims - 1; d >= 0; d--) {
        const long long here = at % p.size[d];
        at /= p.size[d];
        mine += here * p.mine[d];
        value += here * p.theirs[d];
        along += here * p.along[d];
    }
    const long long named = index[along];
    at = mine + (named < 0 ? named + p.rows : named) * p.step;
    if (named >= p.low && named < p.rows) return true;
    if (named != NOWHERE) wrong(found, 2, named);
    return false;
}
#define EACH_PLACE(at, value) \
    long long value, at = (long long)blockIdx.x * blockDim.x + threadIdx.x; \
    const long long nr = at; \
    if (at >= total || !find(places, index, at, value, found)) return;

template <typename S>
__global__ void pick(const S* x, const long long* index, S* y, long long total, const Places places, long long* found) {
    EACH_PLACE(at, value)
    y[nr] = x[at];
}

template <typename S>
__global__ void put(S* x, const long long* index, const S* values, long long total, const Places places,
                    long long* found) {
    EACH_PLACE(at, value)
    x[at] = values[value];
}

template <typename S, typename X = S>
__global__ void add_to(X* x, const long long* index, const S* values, long long total, const Places places,
                       long long* found) {
    EACH_PLACE(at, value)
    add_at(&x[at], X(values[value]));
}
"""
)
_HOW = {"multiply": ", Multiply", "maximum": ", Larger", "minimum": ", Smaller"}
_kernels = Templates(_SOURCE, (("add", ""), *[("combine", how) for how in _HOW.values()]), TYPES)
_WIDE = ", float"  # of halves: what they are added to
_named = Templates(_SOURCE, (("pick", ""), ("put", ""), ("add_to", ""), ("add_to", _WIDE)))  # of halves, too
_MOVED = {t.itemsize: t for t in map(np.dtype, (np.float16, np.float32, np.float64))}  # as what numbers are moved
_THREADS, _MOST_DIMS = 256, 8
_STEPS = [(name, np.int64, _MOST_DIMS) for name in ("size", "mine", "theirs", "along")]
_PLACES = np.dtype([("dims", np.int64), *_STEPS, ("step", np.int64), ("rows", np.int64), ("low", np.int64)])


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
        _in_range(index, low, size, int(asserts.places()))


def _steps(array: Any) -> list[int]:
    return [s // array.itemsize for s in array.strides]


def _walk(
    name: str, x: Any, dim: int, index: Any, shape: Sequence[int], along: Sequence[int], other: Any, theirs: Any,
    low: int = 0,
) -> Any:  # fmt: skip
    """Launch a kernel over all that is named, of a shape in which indices begin at `dim`; gives what goes with `x`."""
    n, values, widens = len(shape), other, False
    if name == "add_to":
        widens = x.dtype == np.float32 and other.dtype not in TYPES
    elif x.itemsize in _MOVED and x.dtype == other.dtype:
        x, values = x.view(_MOVED[x.itemsize]), other.view(_MOVED[x.itemsize])
    if values.dtype not in STORED or not (widens or values.dtype == x.dtype):
        return NotImplemented
    if index.dtype != np.int64 or not 0 < x.ndim <= n <= _MOST_DIMS:
        return NotImplemented
    steps = _steps(x)
    mine = (*steps[:dim], *[0] * (n - x.ndim + 1), *steps[dim + 1 :])
    places = np.zeros((), _PLACES)
    places["dims"], places["step"], places["rows"], places["low"] = n, steps[dim], x.shape[dim], low
    for field, numbers in (("size", shape), ("mine", mine), ("theirs", theirs), ("along", along)):
        places[field][: len(numbers)] = numbers
    total = math.prod(shape)
    if total:
        given = x, index, values, total, places, asserts.places()
        _named.launch(name, values.dtype, -(-total // _THREADS), (_THREADS,), given, _WIDE if widens else "")
    return other


_joined = cupy.ElementwiseKernel(
    "int64 first, int64 second, int64 firsts, int64 seconds, int64 found", "int64 place",
    """
    const bool out = first < -firsts || first >= firsts;
    if (out || second < -seconds || second >= seconds) {
        if (first != NOWHERE) wrong((long long*)found, 2, out ? first : second);
        place = NOWHERE;
    } else place = (first < 0 ? first + firsts : first) * seconds + (second < 0 ? second + seconds : second);
    """,
    "torchlite_joined", preamble=asserts.SOURCE + _NOWHERE,
)  # fmt: skip


class _Joined(NamedTuple):
    """Indices for dimensions side by side as one index of them all, in whose place there is one dimension."""

    dim: int
    shape: tuple[int, ...]  # with that dimension
    index: Any
    low: int  # the least that it may be

    def walk(self, name: str, x: Any, other: Any = None) -> Any:
        """Launch a kernel over all that is named; gives what goes with `x`, which is made where it is not given."""
        before, after = self.shape[: self.dim], self.shape[self.dim + 1 :]
        shape = (*before, *self.index.shape, *after)
        along = (*[0] * len(before), *_steps(self.index), *[0] * len(after))
        if other is None:
            other = cupy.empty(shape, x.dtype)
        if other.shape != shape:
            return NotImplemented
        x = x.reshape(self.shape)
        return _walk(name, x, self.dim, self.index, shape, along, other, _steps(other), self.low)


def _join(shape: Sequence[int], places: Sequence[Any]) -> _Joined | None:
    """None where indices are not of int64, or not side by side, or name nothing."""
    picked = [dim for dim, place in enumerate(places) if place.__class__ is cupy.ndarray]
    dim, end = picked[0], picked[-1] + 1
    given = [places[d] for d in picked]
    if end - dim != len(picked) or any([i.dtype != np.int64 for i in given]) or not _broadcast(given):
        return None
    index, size = given[0], shape[dim]
    for other, more in zip(given[1:], shape[dim + 1 : end]):
        index, size = _joined(index, other, size, more, int(asserts.places())), size * more
    return _Joined(dim, (*shape[:dim], size, *shape[end:]), index, -size if len(picked) == 1 else 0)


def _broadcast(arrays: Sequence[Any]) -> bool:
    try:
        return math.prod(np.broadcast_shapes(*[a.shape for a in arrays])) > 0
    except ValueError:
        return False


def index(x: Any, indices: Sequence[Any]) -> Any:
    """What tensors of indices for dimensions side by side name."""
    joined = _join(x.shape, indices) if x.size and x.itemsize in _MOVED else None
    return NotImplemented if joined is None else joined.walk("pick", x)


def _only(dim: int, step: int, ndim: int) -> list[int]:
    return [step if d == dim else 0 for d in range(ndim)]


def gather(x: Any, dim: int, index: Any, *_: Any) -> Any:
    """The elements that indices name, each in its place along the other dimensions."""
    made = cupy.empty(index.shape, x.dtype)
    return _walk("pick", x, dim % max(1, x.ndim), index, index.shape, _steps(index), made, ())


def index_select(x: Any, dim: int, index: Any) -> Any:
    """The slices that a vector of indices names."""
    dim = dim % max(1, x.ndim)
    if index.ndim != 1 or not x.ndim:
        return NotImplemented
    shape = (*x.shape[:dim], len(index), *x.shape[dim + 1 :])
    return _walk("pick", x, dim, index, shape, _only(dim, _steps(index)[0], x.ndim), cupy.empty(shape, x.dtype), ())


def _written(name: str, x: Any, dim: int, index: Any, values: Any) -> Any:
    if x.ndim != index.ndim:
        return NotImplemented
    if values.__class__ is not cupy.ndarray:
        values = cupy.broadcast_to(cupy.full((), values, x.dtype), index.shape)
    theirs = _steps(values)
    return _walk(name, x, dim % max(1, x.ndim), index, index.shape, _steps(index), values, theirs)


def scatter(x: Any, dim: int, index: Any, values: Any) -> Any:
    """Write values, or one value, to the elements that indices name."""
    return _written("put", x, dim, index, values)


def scatter_add(x: Any, dim: int, index: Any, values: Any) -> Any:
    """Add values to the elements that indices name."""
    return _written("add_to", x, dim, index, values)


def put_in_images(values: Any, places: Any, size: Sequence[int]) -> Any:
    """Images of this size, zero but for values added at given places of each."""
    if not values.size:
        return NotImplemented
    lead = values.shape[: values.ndim - len(size)]
    made = cupy.zeros((math.prod(lead), math.prod(size)), values.dtype)
    index = places.reshape((len(made), -1))
    added = scatter_add(made, 1, index, values.reshape(index.shape))
    return NotImplemented if added is NotImplemented else made.reshape((*lead, *size))


def index_add(x: Any, dim: int, index: Any, values: Any, alpha: Any) -> Any:
    """Add slices to those that a vector of indices names."""
    dim = dim % max(1, x.ndim)
    if alpha.__class__ is not int or index.ndim != 1 or values.ndim != x.ndim:
        return NotImplemented
    along = _only(dim, _steps(index)[0], x.ndim)
    return _walk("add_to", x, dim, index, values.shape, along, values, _steps(values))


def accumulate(target: Any, places: Sequence[Any], values: Any) -> Any:
    """Add values to what tensors of indices for dimensions side by side name."""
    if target.dtype in STORED and target.dtype not in TYPES:  # whose sums are rounded once
        wide = target.astype(np.float32)
        if accumulate(wide, places, values) is NotImplemented:
            return NotImplemented
        target[...] = wide
        return target
    if not target.flags.c_contiguous and sum([place.__class__ is cupy.ndarray for place in places]) > 1:
        return NotImplemented
    joined = _join(target.shape, places)
    return NotImplemented if joined is None else joined.walk("add_to", target, values)


KERNELS = {"index.Tensor": index, "gather": gather, "index_select": index_select}
