"""Softmax, norms of rows and their gradients: a block of threads for each row, and one launch.

A row is what lies along the axis, `step` elements apart; there are `step` rows between each other. What is reduced is
reduced within warps, then over their results. Sums are of float32, or of float64 for float64.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import cupy

from .raw import Templates, rows_of_one_type, summed

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

// Rows are normalized by mean and deviation, or, not `centred`, by the root of their mean square. Of these, layers keep
// what is stored, and the others what was computed. Weights are for every `inner` elements of `groups` rows.
template <typename S, bool centred> struct Kept { typedef S type; };
template <typename S> struct Kept<S, false> { typedef SUM(S) type; };
#define KEPT typename Kept<S, centred>::type
#define PARAMETER(i) ((blockIdx.x % groups * n + i) / inner)

template <typename S, bool centred, typename T = SUM(S)>
__global__ void layer_norm(const S* x, const S* weight, const S* bias, S* y, KEPT* means, KEPT* rstds, long long n,
                           long long groups, long long inner, double eps) {
    x += blockIdx.x * n; y += blockIdx.x * n;
    T mean = 0, squares = 0;
    if (centred) {
        EACH(i) mean += x[i];
        mean = over_block<T, add<T>>(mean, 0) / n;
    }
    EACH(i) squares += (x[i] - mean) * (x[i] - mean);
    const T rstd = T(1) / sqrt(over_block<T, add<T>>(squares, 0) / n + T(eps));
    EACH(i) {
        const T hat = (x[i] - mean) * rstd;
        y[i] = (weight ? hat * weight[PARAMETER(i)] : hat) + (bias ? bias[PARAMETER(i)] : T(0));
    }
    if (threadIdx.x) return;
    if (means) means[blockIdx.x] = mean;
    rstds[blockIdx.x] = rstd;
}

template <typename S, bool centred, typename T = SUM(S)>
__global__ void layer_norm_backward(const S* g, const S* x, const S* weight, const KEPT* means, const KEPT* rstds,
                                    S* out, long long n, long long groups, long long inner) {
    g += blockIdx.x * n; x += blockIdx.x * n; out += blockIdx.x * n;
    const T mean = means ? T(means[blockIdx.x]) : T(0), rstd = rstds[blockIdx.x];
    T total = 0, along = 0;
    EACH(i) {
        const T scaled = weight ? g[i] * weight[PARAMETER(i)] : g[i];
        total += scaled;
        along += scaled * (x[i] - mean) * rstd;
    }
    total = centred ? over_block<T, add<T>>(total, 0) / n : T(0);
    along = over_block<T, add<T>>(along, 0) / n;
    EACH(i) {
        const T scaled = weight ? g[i] * weight[PARAMETER(i)] : g[i];
        out[i] = rstd * (scaled - total - (x[i] - mean) * rstd * along);
    }
}

// A block for 32 columns, whose rows are shared out among its 8 rows of threads.
template <typename S, bool centred, typename T = SUM(S)>
__global__ void layer_norm_columns(const S* g, const S* x, const KEPT* means, const KEPT* rstds, S* of_weight,
                                   S* of_bias, long long rows, long long n) {
    __shared__ T weights[8][33], biases[8][33];
    const long long column = blockIdx.x * 32 + threadIdx.x;
    T weight = 0, bias = 0;
    if (column < n)
        for (long long row = threadIdx.y; row < rows; row += 8) {
            const T given = g[row * n + column], mean = means ? T(means[row]) : T(0);
            weight += given * (x[row * n + column] - mean) * rstds[row];
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

// A block for each channel, of which there are as many in a group.
template <typename S, typename T = SUM(S)>
__global__ void group_norm_channels(const S* g, const S* x, const S* means, const S* rstds, S* of_weight, S* of_bias,
                                    long long n, long long groups, long long inner) {
    const long long channel = blockIdx.x, channels = gridDim.x, group = channel / (channels / groups);
    T weight = 0, bias = 0;
    EACH(i) {
        const long long image = i / inner, at = (image * channels + channel) * inner + i % inner;
        weight += g[at] * (x[at] - means[image * groups + group]) * rstds[image * groups + group];
        bias += g[at];
    }
    weight = over_block<T, add<T>>(weight, 0);
    bias = over_block<T, add<T>>(bias, 0);
    if (threadIdx.x) return;
    if (of_weight) of_weight[channel] = weight;
    if (of_bias) of_bias[channel] = bias;
}
"""
)
_kernels = Templates(
    _SOURCE,
    (
        *itertools.product(
            ("softmax", "softmax_backward", "layer_norm", "layer_norm_backward", "layer_norm_columns"),
            (", false", ", true"),
        ),
        ("group_norm_channels", ""),
    ),
)


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


_CENTRED, _BY_ROOT = ", true", ", false"


def _layer_norm(input: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not rows_of_one_type(input, weight, bias):
        return NotImplemented
    kept = (*input.shape[: -len(shape)], *[1] * len(shape))
    return _normalized(input, weight, bias, kept, math.prod(shape), 1, 1, eps)


def _group_norm(
    input: Any, weight: Any, bias: Any, images: int, channels: int, inner: int, groups: int, eps: float
) -> Any:  # fmt: skip
    if not rows_of_one_type(input, weight, bias):
        return NotImplemented
    return _normalized(input, weight, bias, (images, groups), channels // groups * inner, groups, inner, eps)


def _normalized(
    input: Any, weight: Any, bias: Any, kept: tuple[int, ...], n: int, groups: int, inner: int, eps: float
) -> tuple[Any, ...]:  # fmt: skip
    """The normalized rows, and means and deviations."""
    made, mean, rstd = cupy.empty_like(input), cupy.empty(kept, input.dtype), cupy.empty(kept, input.dtype)
    given = input, weight, bias, made, mean, rstd, n, groups, inner, float(eps)
    _kernels.launch("layer_norm", input.dtype, mean.size, _threads(n), given, _CENTRED)
    return made, mean, rstd


def _layer_norm_backward(
    g: Any, input: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, mask: Any
) -> Any:
    if mean.dtype != input.dtype or not rows_of_one_type(input, weight, bias):
        return NotImplemented
    return _through_rows(g, input, shape, mean, rstd, weight, mask, _CENTRED)


def _rms_norm(input: Any, shape: Any, weight: Any, eps: float) -> Any:
    if not rows_of_one_type(input, weight):
        return NotImplemented
    made, n = cupy.empty_like(input), math.prod(shape)
    rstd = cupy.empty((*input.shape[: -len(shape)], *[1] * len(shape)), summed(input.dtype))
    given = input, weight, None, made, None, rstd, n, 1, 1, float(eps)
    _kernels.launch("layer_norm", input.dtype, rstd.size, _threads(n), given, _BY_ROOT)
    return made, rstd


def _rms_norm_backward(g: Any, input: Any, shape: Any, rstd: Any, weight: Any, mask: Any) -> Any:
    if not rows_of_one_type(input, weight):
        return NotImplemented
    return _through_rows(g, input, shape, None, rstd, weight, (*mask, False), _BY_ROOT)[:2]


def _through_rows(
    g: Any, input: Any, shape: Any, mean: Any, rstd: Any, weight: Any, mask: Any, how: str
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of rows, weight and bias."""
    n, d, rows, g = math.prod(shape), input.dtype, rstd.size, cupy.ascontiguousarray(g)
    to_x, to_weight, to_bias = _wanted(mask, (input.shape, shape, shape), d)
    if mask[0]:
        given = g, input, weight, mean, rstd, to_x, n, 1, 1
        _kernels.launch("layer_norm_backward", d, rows, _threads(n), given, how)
    if mask[1] or mask[2]:
        of_columns = g, input, mean, rstd, to_weight, to_bias, rows, n
        _kernels.launch("layer_norm_columns", d, -(-n // 32), (32, 8), of_columns, how)
    return to_x, to_weight, to_bias


def _group_norm_backward(
    g: Any, input: Any, mean: Any, rstd: Any, weight: Any, images: int, channels: int, inner: int, groups: int,
    mask: Any,
) -> Any:  # fmt: skip
    g = cupy.ascontiguousarray(g)
    if not rows_of_one_type(input, g, mean, rstd, weight):
        return NotImplemented
    n, d = channels // groups * inner, input.dtype
    to_x, to_weight, to_bias = _wanted(mask, (input.shape, (channels,), (channels,)), d)
    if mask[0]:
        given = g, input, weight, mean, rstd, to_x, n, groups, inner
        _kernels.launch("layer_norm_backward", d, mean.size, _threads(n), given, _CENTRED)
    if mask[1] or mask[2]:
        given = g, input, mean, rstd, to_weight, to_bias, images * inner, groups, inner
        _kernels.launch("group_norm_channels", d, channels, _threads(images * inner), given)
    return to_x, to_weight, to_bias


def _wanted(mask: Any, shapes: Sequence[tuple[int, ...]], dtype: Any) -> list[Any]:
    """Room for the gradients that somebody wants."""
    return [cupy.empty(shape, dtype) if wanted else None for wanted, shape in zip(mask, shapes)]


KERNELS = {
    "softmax.int": _softmax(False),
    "_softmax": _softmax(False),
    "log_softmax.int": _softmax(True),
    "_log_softmax": _softmax(True),
    "_softmax_backward_data": _softmax_backward(False),
    "_log_softmax_backward_data": _softmax_backward(True),
    "native_layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
    "native_group_norm": _group_norm,
    "native_group_norm_backward": _group_norm_backward,
    "_fused_rms_norm": _rms_norm,
    "_fused_rms_norm_backward": _rms_norm_backward,
}
