"""Softmax, layer norm and their gradients: a block of threads for each row, and one launch.

A row is what lies along the axis, `step` elements apart; there are `step` rows between each other. What is reduced is
reduced within warps, then over their results. Sums are of float32, or of float64 for float64.
"""

from __future__ import annotations

import math
from typing import Any

import cupy

from .raw import Templates, rows_of_one_type

REDUCTIONS = r"""
template <typename T> __device__ T add(T a, T b) { return a + b; }
template <typename T> __device__ T larger(T a, T b) { return a != a || a > b ? a : b; }

// `combine` over the block, known to all its threads.
template <typename T, T (*combine)(T, T)> __device__ T over_block(T value, T neutral) {
    __shared__ T of_warps[32];
    for (int by = 16; by; by /= 2) value = combine(value, __shfl_xor_sync(~0u, value, by));
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = neutral;
    for (int w = 0; w < (blockDim.x + 31) / 32; w++) value = combine(value, of_warps[w]);
    return value;
}

"""
_SOURCE = (
    REDUCTIONS
    + r"""
__device__ long long row_start(long long n, long long step) {
    const long long row = blockIdx.x;
    return row / step * step * n + row % step;
}
#define EACH(i) for (long long i = threadIdx.x; i < n; i += blockDim.x)

template <typename S, bool logarithm, typename T = SUM(S)>
__global__ void softmax(const S* x, S* y, long long n, long long step) {
    const long long start = row_start(n, step);
    x += start; y += start;
    T most = -INFINITY, sum = 0;
    EACH(i) most = larger(most, T(x[i * step]));
    most = over_block<T, larger<T>>(most, -INFINITY);
    EACH(i) sum += exp(x[i * step] - most);
    sum = over_block<T, add<T>>(sum, 0);
    const T part = logarithm ? log(sum) : T(1) / sum;
    EACH(i) {
        const T left = x[i * step] - most;
        y[i * step] = logarithm ? left - part : exp(left) * part;
    }
}

template <typename S, bool logarithm, typename T = SUM(S)>
__global__ void softmax_backward(const S* g, const S* y, S* out, long long n, long long step) {
    const long long start = row_start(n, step);
    g += start; y += start; out += start;
    T sum = 0;
    EACH(i) sum += logarithm ? g[i * step] : g[i * step] * y[i * step];
    sum = over_block<T, add<T>>(sum, 0);
    EACH(i) {
        const T given = g[i * step], made = y[i * step];
        out[i * step] = logarithm ? given - exp(made) * sum : made * (given - sum);
    }
}

template <typename S, typename T = SUM(S)>
__global__ void layer_norm(const S* x, const S* weight, const S* bias, S* y, S* means, S* rstds, long long n,
                           double eps) {
    x += blockIdx.x * n; y += blockIdx.x * n;
    T sum = 0, squares = 0;
    EACH(i) sum += x[i];
    const T mean = over_block<T, add<T>>(sum, 0) / n;
    EACH(i) squares += (x[i] - mean) * (x[i] - mean);
    const T rstd = T(1) / sqrt(over_block<T, add<T>>(squares, 0) / n + T(eps));
    EACH(i) {
        const T hat = (x[i] - mean) * rstd;
        y[i] = (weight ? hat * weight[i] : hat) + (bias ? bias[i] : T(0));
    }
    if (threadIdx.x == 0) { means[blockIdx.x] = mean; rstds[blockIdx.x] = rstd; }
}

template <typename S, typename T = SUM(S)>
__global__ void layer_norm_backward(const S* g, const S* x, const S* weight, const S* means, const S* rstds, S* out,
                                    long long n) {
    g += blockIdx.x * n; x += blockIdx.x * n; out += blockIdx.x * n;
    const T mean = means[blockIdx.x], rstd = rstds[blockIdx.x];
    T total = 0, along = 0;
    EACH(i) {
        const T scaled = weight ? g[i] * weight[i] : g[i];
        total += scaled;
        along += scaled * (x[i] - mean) * rstd;
    }
    total = over_block<T, add<T>>(total, 0) / n;
    along = over_block<T, add<T>>(along, 0) / n;
    EACH(i) {
        const T scaled = weight ? g[i] * weight[i] : g[i];
        out[i] = rstd * (scaled - total - (x[i] - mean) * rstd * along);
    }
}

// A block for 32 columns, whose rows are shared out among its 8 rows of threads.
template <typename S, typename T = SUM(S)>
__global__ void layer_norm_columns(const S* g, const S* x, const S* means, const S* rstds, S* of_weight, S* of_bias,
                                   long long rows, long long n) {
    __shared__ T weights[8][33], biases[8][33];
    const long long column = blockIdx.x * 32 + threadIdx.x;
    T weight = 0, bias = 0;
    if (column < n)
        for (long long row = threadIdx.y; row < rows; row += 8) {
            const T given = g[row * n + column];
            weight += given * (x[row * n + column] - means[row]) * rstds[row];
            bias += given;
        }
    weights[threadIdx.y][threadIdx.x] = weight;
    biases[threadIdx.y][threadIdx.x] = bias;
    __syncthreads();
    if (threadIdx.y == 0 && column < n) {
        for (int i = 1; i < 8; i++) { weight += weights[i][threadIdx.x]; bias += biases[i][threadIdx.x]; }
        if (of_weight) of_weight[column] = weight;
        if (of_bias) of_bias[column] = bias;
    }
}
"""
)
_kernels = Templates(
    _SOURCE,
    (
        ("softmax", ", false"), ("softmax", ", true"), ("softmax_backward", ", false"), ("softmax_backward", ", true"),
        ("layer_norm", ""), ("layer_norm_backward", ""), ("layer_norm_columns", ""),
    ),
)  # fmt: skip


def _threads(n: int) -> tuple[int]:
    """Whole warps, about four elements for each thread."""
    return (min(512, max(32, 1 << (n // 4).bit_length())),)


def _along(array: Any, axis: int) -> tuple[int, int]:
    """The length of rows along an axis, and the step from one element to the next."""
    return array.shape[axis], math.prod(array.shape[axis % array.ndim + 1 :])


def _softmax(logarithm: bool) -> Any:
    def softmax(array: Any, axis: int, *_: Any) -> Any:
        if not rows_of_one_type(array):
            return NotImplemented
        n, step = _along(array, axis)
        made = cupy.empty_like(array)
        more = f", {str(logarithm).lower()}"
        _kernels.launch("softmax", array.dtype, array.size // n, _threads(n), (array, made, n, step), more)
        return made

    return softmax


def _softmax_backward(logarithm: bool) -> Any:
    def softmax_backward(g: Any, output: Any, axis: int, *_: Any) -> Any:
        g = cupy.ascontiguousarray(g)
        if not rows_of_one_type(g, output):
            return NotImplemented
        n, step = _along(g, axis)
        made = cupy.empty_like(output)
        more = f", {str(logarithm).lower()}"
        _kernels.launch("softmax_backward", g.dtype, g.size // n, _threads(n), (g, output, made, n, step), more)
        return made

    return softmax_backward


def _layer_norm(input: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not rows_of_one_type(input, weight, bias):
        return NotImplemented
    kept = (*input.shape[: -len(shape)], *[1] * len(shape))
    made, mean, rstd = cupy.empty_like(input), cupy.empty(kept, input.dtype), cupy.empty(kept, input.dtype)
    n = math.prod(shape)
    arguments = (input, weight, bias, made, mean, rstd, n, float(eps))
    _kernels.launch("layer_norm", input.dtype, mean.size, _threads(n), arguments)
    return made, mean, rstd


def _layer_norm_backward(
    g: Any, input: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any
) -> Any:
    g = cupy.ascontiguousarray(g)
    if not rows_of_one_type(g, input, mean, rstd, weight, bias):
        return NotImplemented
    n, d = math.prod(shape), input.dtype
    to_x = cupy.empty_like(input) if mask[0] else None
    to_weight = cupy.empty(shape, d) if mask[1] else None
    to_bias = cupy.empty(shape, d) if mask[2] else None
    if mask[0]:
        _kernels.launch("layer_norm_backward", d, mean.size, _threads(n), (g, input, weight, mean, rstd, to_x, n))
    if mask[1] or mask[2]:
        given = g, input, mean, rstd, to_weight, to_bias, mean.size, n
        _kernels.launch("layer_norm_columns", d, -(-n // 32), (32, 8), given)
    return to_x, to_weight, to_bias


KERNELS = {
    "softmax.int": _softmax(False),
    "_softmax": _softmax(False),
    "log_softmax.int": _softmax(True),
    "_log_softmax": _softmax(True),
    "_softmax_backward_data": _softmax_backward(False),
    "_log_softmax_backward_data": _softmax_backward(True),
    "native_layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
}
