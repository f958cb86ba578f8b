"""Attention without a matrix of scores: a warp for each query, or each key, walks over all it is weighed against.

What it is weighed against comes in tiles of 32, one for each lane, into memory that the warps of a block share. Forward
keeps the logarithm of each query's sum; backward finds the weights again from it, once for the queries' gradients and
once for those of keys and values. Weights that are dropped are those whose numbers, which count along a row of all
weights, say so; backward draws them again.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from .philox import PHILOX
from .raw import STORED, Templates, summed

_WARPS = 4
_WIDEST = 128  # numbers in a query, a key or a value: each lane holds some of them
_SHARED = 48 << 10  # bytes that a block may share

_SOURCE = (
    PHILOX
    + r"""
#define ALL ~0u
#define TILE 32
#define PARTS 4  // of what a lane holds: every 32nd number
// The head, and the row of it, that a warp works on; of blocks there may be many in one dimension only.
#define PLACE(head, at, rows) \
    const long long blocks = (rows + blockDim.y - 1) / blockDim.y, head = blockIdx.x / blocks; \
    const long long at = blockIdx.x % blocks * blockDim.y + threadIdx.y;

struct Sizes { long long queries, keys, width, value_width; double scale; int causal; };
// Weights are kept where their numbers lie below `most`, in steps of 2**-53, and then multiplied by `factor`.
struct Drop { unsigned long long seed, counter, graph, most; double factor; };
struct Mask { long long inner, outer_step, inner_step, query_step, key_step; };  // inner: heads of one batch element

template <typename T> __device__ T over_warp(T value) {
    for (int by = 16; by; by /= 2) value += __shfl_xor_sync(ALL, value, by);
    return value;
}
template <typename T> __device__ T largest_of_warp(T value) {
    for (int by = 16; by; by /= 2) {
        const T other = __shfl_xor_sync(ALL, value, by);
        if (other > value) value = other;
    }
    return value;
}

// Rows from `first` on, into a tile whose rows are one number longer.
template <typename T, typename S>
__device__ void load(T* tile, const S* rows, long long first, long long count, long long width) {
    for (long long i = threadIdx.y * 32 + threadIdx.x; i < TILE * width; i += 32 * blockDim.y) {
        const long long row = i / width, column = i % width;
        tile[row * (width + 1) + column] = first + row < count ? T(rows[(first + row) * width + column]) : T(0);
    }
}
template <typename T> __device__ T dot(const T* a, const T* b, long long width) {
    T sum = 0;
    for (long long d = 0; d < width; d++) sum += a[d] * b[d];
    return sum;
}
// Adds rows of a tile, each by the factor that its lane has, to what the lanes hold.
template <typename T> __device__ void add_rows(T* held, const T* tile, T factor, long long width) {
    for (int row = 0; row < TILE; row++) {
        const T weight = __shfl_sync(ALL, factor, row);
        for (int part = 0; part < PARTS; part++) {
            const long long d = part * 32 + threadIdx.x;
            if (d < width) held[part] += weight * tile[row * (width + 1) + d];
        }
    }
}
template <typename T, typename S> __device__ void store(S* row, const T* held, T factor, long long width) {
    for (int part = 0; part < PARTS; part++) {
        const long long d = part * 32 + threadIdx.x;
        if (d < width) row[d] = held[part] * factor;
    }
}
// The score of a query and a key; -inf where it is masked.
template <typename T, typename S>
__device__ T score(T product, const S* mask, const Mask& m, const Sizes& n, long long head, long long query,
                   long long key) {
    if (query >= n.queries || key >= n.keys || (n.causal && key > query)) return -INFINITY;
    if (mask)
        product += T(mask[head / m.inner * m.outer_step + head % m.inner * m.inner_step + query * m.query_step
                        + key * m.key_step]);
    return product;
}

// What a weight is multiplied with.
template <typename T> __device__ T kept(const Drop& drop, const Sizes& n, long long row, long long key) {
    if (drop.factor == 1) return T(1);
    const torchlite_block drawn(drop.seed, drop.counter + row * n.keys + key, drop.graph);
    return drawn.below(drop.most) ? T(drop.factor) : T(0);
}

template <typename S, typename T = SUM(S)>
__global__ void attention(const S* query, const S* key, const S* value, const S* mask, S* result, T* logs,
                          unsigned long long* drawn, const Sizes n, const Mask m, const Drop drop) {
    extern __shared__ double shared[];
    T* keys = (T*)shared;
    T* values = keys + TILE * (n.width + 1);
    T* own = values + TILE * (n.value_width + 1) + threadIdx.y * n.width;
    PLACE(head, at, n.queries)
    const long long row = head * n.queries + at;
    for (long long d = threadIdx.x; d < n.width; d += 32)
        own[d] = at < n.queries ? T(query[row * n.width + d]) * T(n.scale) : T(0);
    T most = -INFINITY, total = 0, held[PARTS] = {};
    for (long long first = 0; first < n.keys; first += TILE) {
        __syncthreads();
        load(keys, key + head * n.keys * n.width, first, n.keys, n.width);
        load(values, value + head * n.keys * n.value_width, first, n.keys, n.value_width);
        __syncthreads();
        const T product = dot(own, keys + threadIdx.x * (n.width + 1), n.width);
        const T s = score(product, mask, m, n, head, at, first + threadIdx.x);
        const T high = largest_of_warp(s);
        const T next = high > most ? high : most;
        const T shrink = most == -INFINITY ? T(0) : exp(most - next), weight = s == -INFINITY ? T(0) : exp(s - next);
        total = total * shrink + over_warp(weight);
        for (int part = 0; part < PARTS; part++) held[part] *= shrink;
        add_rows(held, values, weight * kept<T>(drop, n, row, first + threadIdx.x), n.value_width);
        most = next;
    }
    if (at >= n.queries) return;
    store(result + row * n.value_width, held, total > 0 ? T(1) / total : T(0), n.value_width);
    if (threadIdx.x) return;
    logs[row] = total > 0 ? log(total) + most : T(0);
    if (row || !drawn) return;
    const torchlite_place begun(drop.seed, drop.counter, drop.graph);
    drawn[0] = begun.seed;
    drawn[1] = begun.counter;
}

template <typename S, typename T = SUM(S)>
__global__ void of_queries(const S* g, const S* query, const S* key, const S* value, const S* mask, const T* logs,
                           const T* delta, S* to_query, const Sizes n, const Mask m, const Drop drop) {
    extern __shared__ double shared[];
    T* keys = (T*)shared;
    T* values = keys + TILE * (n.width + 1);
    T* own = values + TILE * (n.value_width + 1) + threadIdx.y * (n.width + n.value_width);
    T* given = own + n.width;
    PLACE(head, at, n.queries)
    const long long row = head * n.queries + (at < n.queries ? at : 0);
    for (long long d = threadIdx.x; d < n.width; d += 32) own[d] = T(query[row * n.width + d]) * T(n.scale);
    for (long long d = threadIdx.x; d < n.value_width; d += 32) given[d] = g[row * n.value_width + d];
    T held[PARTS] = {};
    for (long long first = 0; first < n.keys; first += TILE) {
        __syncthreads();
        load(keys, key + head * n.keys * n.width, first, n.keys, n.width);
        load(values, value + head * n.keys * n.value_width, first, n.keys, n.value_width);
        __syncthreads();
        const T s = score(dot(own, keys + threadIdx.x * (n.width + 1), n.width), mask, m, n, head, at,
                          first + threadIdx.x);
        const T weight = s == -INFINITY ? T(0) : exp(s - logs[row]);
        const T to_weight = kept<T>(drop, n, row, first + threadIdx.x)
            * dot(given, values + threadIdx.x * (n.value_width + 1), n.value_width);
        add_rows(held, keys, weight * (to_weight - delta[row]), n.width);
    }
    if (at < n.queries) store(to_query + row * n.width, held, T(n.scale), n.width);
}

template <typename S, typename T = SUM(S)>
__global__ void of_keys(const S* g, const S* query, const S* key, const S* value, const S* mask, const T* logs,
                        const T* delta, S* to_key, S* to_value, const Sizes n, const Mask m, const Drop drop) {
    extern __shared__ double shared[];
    T* queries = (T*)shared;
    T* gradients = queries + TILE * (n.width + 1);
    T* own = gradients + TILE * (n.value_width + 1) + threadIdx.y * (n.width + n.value_width);
    T* valued = own + n.width;
    PLACE(head, at, n.keys)
    const long long row = head * n.keys + (at < n.keys ? at : 0), start = head * n.queries;
    for (long long d = threadIdx.x; d < n.width; d += 32) own[d] = T(key[row * n.width + d]) * T(n.scale);
    for (long long d = threadIdx.x; d < n.value_width; d += 32) valued[d] = value[row * n.value_width + d];
    T held[PARTS] = {}, held_value[PARTS] = {};
    for (long long first = 0; first < n.queries; first += TILE) {
        __syncthreads();
        load(queries, query + start * n.width, first, n.queries, n.width);
        load(gradients, g + start * n.value_width, first, n.queries, n.value_width);
        __syncthreads();
        const long long other = first + threadIdx.x;
        const T s = score(dot(own, queries + threadIdx.x * (n.width + 1), n.width), mask, m, n, head, other, at);
        const T weight = s == -INFINITY ? T(0) : exp(s - logs[start + other]);
        const T factor = kept<T>(drop, n, start + other, at);
        const T to_weight = factor * dot(valued, gradients + threadIdx.x * (n.value_width + 1), n.value_width);
        const T to_score = s == -INFINITY ? T(0) : weight * (to_weight - delta[start + other]);
        add_rows(held, queries, to_score, n.width);
        add_rows(held_value, gradients, weight * factor, n.value_width);
    }
    if (at >= n.keys) return;
    store(to_key + row * n.width, held, T(n.scale), n.width);
    store(to_value + row * n.value_width, held_value, T(1), n.value_width);
}
"""
)
_kernels = Templates(_SOURCE, (("attention", ""), ("of_queries", ""), ("of_keys", "")))


class _Call:
    """One call of attention: the operands in order, and how they are walked over."""

    def __init__(
        self, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, keep: float = 1.0,
        *begin: Any,
    ) -> None:  # fmt: skip
        self.operands = [cupy.ascontiguousarray(a) for a in (query, key, value)]
        self.lead = query.shape[:-2]
        self.heads = math.prod(self.lead)
        self.queries, self.width = query.shape[-2:]
        self.keys, self.value_width = value.shape[-2:]
        self.dtype = query.dtype
        self.summed = summed(self.dtype)
        sizes = [("queries", "i8"), ("keys", "i8"), ("width", "i8"), ("value_width", "i8")]
        self.sizes = _struct(
            [*sizes, ("scale", "f8"), ("causal", "i4")],
            (self.queries, self.keys, self.width, self.value_width, scale, causal),
        )
        steps = (1, 0, 0, 0, 0)
        if mask is not None:
            if mask.dtype.kind == "b":
                mask = cupy.where(mask, self.summed.type(0), self.summed.type(-math.inf)).astype(self.dtype, copy=False)
            spread = cupy.broadcast_to(mask, (*self.lead, self.queries, self.keys))
            *outer, by_query, by_key = [s // mask.itemsize for s in spread.strides]
            steps = (self.lead[-1] if outer else 1, *(0, 0, *outer)[-2:], by_query, by_key)
        self.mask = mask
        names = ("inner", "outer_step", "inner_step", "query_step", "key_step")
        self.steps = _struct([(name, "i8") for name in names], steps)
        drop = [(name, "u8") for name in ("seed", "counter", "graph", "most")]
        self.drop = _struct([*drop, ("factor", "f8")], (*(begin or (0, 0, 0)), math.ceil(keep * 2**53), 1 / keep))

    @staticmethod
    def fits(query: Any, key: Any, value: Any, mask: Any, *others: Any) -> bool:
        alike = all([a.dtype == query.dtype for a in (key, value, *others)])
        wide = query.shape[-1] + value.shape[-1]
        return (
            alike
            and query.dtype in STORED
            and 0 not in (*query.shape, *key.shape, *value.shape)
            and max(query.shape[-1], value.shape[-1]) <= _WIDEST
            and (32 * (wide + 2) + _WARPS * wide) * max(4, query.itemsize) <= _SHARED
            and (mask is None or (query.ndim <= 4 and mask.dtype in (query.dtype, bool)))
        )

    def launch(self, name: str, rows: int, own: int, *given: Any) -> None:
        wide = self.width + self.value_width
        shared = (32 * (wide + 2) + _WARPS * own) * self.summed.itemsize
        blocks = -(-rows // _WARPS) * self.heads
        given = (*given, self.sizes, self.steps, self.drop)
        _kernels.launch(name, self.dtype, blocks, (32, _WARPS), given, shared=shared)


def _struct(fields: Any, values: Any) -> Any:
    return np.array(tuple(values), np.dtype(fields, align=True))


takes = _Call.fits


def _run(call: _Call, query: Any, drawn: Any = None) -> tuple[Any, Any]:
    result = cupy.empty((*query.shape[:-1], call.value_width), query.dtype)
    logs = cupy.empty((call.heads, call.queries, 1), call.summed)
    call.launch("attention", call.queries, call.width, *call.operands, call.mask, result, logs, drawn)
    if query.ndim == 4 and not query.flags.c_contiguous and result.shape == query.shape and 0 not in query.strides:
        made = cupy.empty_like(query)  # in memory, batch, heads and queries lie in the order of those of the queries
        made[...] = result
        result = made
    return result, logs


def _run_backward(call: _Call, g: Any, result: Any, logs: Any, needs: Any) -> tuple[Any, ...]:
    g, own, (query, key, value) = cupy.ascontiguousarray(g), call.width + call.value_width, call.operands
    given = (g, *call.operands, call.mask, logs, _row_products(g, result, call.summed))
    to_query = to_key = to_value = None
    if needs[0]:
        to_query = cupy.empty(query.shape, query.dtype)
        call.launch("of_queries", call.queries, own, *given, to_query)
    if needs[1] or needs[2]:
        to_key, to_value = cupy.empty(key.shape, key.dtype), cupy.empty(value.shape, value.dtype)
        call.launch("of_keys", call.keys, own, *given, to_key, to_value)
    return to_query, to_key if needs[1] else None, to_value if needs[2] else None, None


def _attention(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    if not takes(query, key, value, mask):
        return NotImplemented
    return _run(_Call(query, key, value, mask, causal, scale), query)


def _attention_backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, result: Any, logs: Any, causal: bool, scale: float, needs: Any
) -> Any:
    if not takes(query, key, value, mask, g):
        return NotImplemented
    return _run_backward(_Call(query, key, value, mask, causal, scale), g, result, logs, needs)


def dropped(
    query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, keep: float, *begin: Any
) -> tuple[Any, ...]:
    """Attention with dropout, of operands that it `takes`; its logarithms, and the place that its numbers began at."""
    drawn = cupy.empty(2, np.uint64)
    return *_run(_Call(query, key, value, mask, causal, scale, keep, *begin), query, drawn), drawn


def dropped_backward(
    g: Any, query: Any, key: Any, value: Any, mask: Any, result: Any, logs: Any, drawn: Any, causal: bool,
    scale: float, keep: float, needs: Any,
) -> Any:  # fmt: skip
    """The gradients of `dropped`."""
    call = _Call(query, key, value, mask, causal, scale, keep, 0, 0, drawn.data.ptr)
    return _run_backward(call, g, result, logs, needs)


_products = cupy.ReductionKernel("T a, T b", "R y", "R(a) * R(b)", "a + b", "y = a", "0", "torchlite_row_products")


def _row_products(a: Any, b: Any, dtype: Any) -> Any:
    """The products of rows with each other."""
    return _products(a, cupy.ascontiguousarray(b), cupy.empty(a.shape[:-1], dtype), axis=a.ndim - 1)


KERNELS = {"_scaled_dot_product_attention": _attention, "_scaled_dot_product_attention_backward": _attention_backward}
