"""Batch norm: a block of threads for each channel, which makes its statistics and what they normalize in one launch."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .raw import Templates, rows_of_one_type, summed
from .rows import REDUCTIONS

_SOURCE = (
    REDUCTIONS
    + r"""
// Over the elements of a channel: `at` is where they lie.
#define EACH(at) for (long long i = threadIdx.x; i < n; i += blockDim.x) \
    for (long long at = (i / inner * gridDim.x + blockIdx.x) * inner + i % inner, once = 1; once; once = 0)

// A number as it is stored.
template <typename W, typename T> __device__ T stored(T x) {
    W kept;
    kept = x;
    return kept;
}

// `W` is the type of what there is one of for each channel. Where there is no `training`, statistics are the running
// ones, and no part of what is differentiated.
template <typename S, typename W = S, typename T = SUM(S)>
__global__ void batch_norm(const S* x, const W* weight, const W* bias, W* running_mean, W* running_var, S* y, W* means,
                           W* rstds, long long n, long long inner, int training, double momentum, double eps) {
    const int channel = blockIdx.x;
    T mean, rstd, squares = 0;
    if (training) {
        T sum = 0;
        EACH(at) sum += x[at];
        const T middle = over_block<T, add<T>>(sum, 0) / n;
        EACH(at) squares += (x[at] - middle) * (x[at] - middle);
        squares = over_block<T, add<T>>(squares, 0);
        mean = stored<W>(middle);
        rstd = stored<W>(T(1) / sqrt(squares / n + T(eps)));
    } else {
        mean = running_mean[channel];
        rstd = T(1) / sqrt(running_var[channel] + T(eps));
    }
    const T factor = weight ? rstd * weight[channel] : rstd, shift = bias ? T(bias[channel]) : T(0);
    EACH(at) y[at] = (x[at] - mean) * factor + shift;
    if (threadIdx.x || !training) return;
    means[channel] = mean;
    rstds[channel] = rstd;
    if (running_mean) running_mean[channel] = running_mean[channel] * T(1 - momentum) + mean * T(momentum);
    if (running_var) running_var[channel] = running_var[channel] * T(1 - momentum) + squares / (n - 1) * T(momentum);
}

template <typename S, typename W = S, typename T = SUM(S)>
__global__ void batch_norm_backward(const S* g, const S* x, const W* weight, const W* means, const W* spreads, S* to_x,
                                    W* to_weight, W* to_bias, long long n, long long inner, int training, double eps) {
    const int channel = blockIdx.x;
    const T mean = means[channel], spread = spreads[channel], rstd = training ? spread : T(1) / sqrt(spread + T(eps));
    T total = 0, along = 0;
    EACH(at) {
        total += g[at];
        along += g[at] * (x[at] - mean) * rstd;
    }
    total = over_block<T, add<T>>(total, 0);
    along = over_block<T, add<T>>(along, 0);
    if (to_x) {
        const T factor = weight ? rstd * weight[channel] : rstd;
        if (training) EACH(at) to_x[at] = factor * (g[at] - total / n - (x[at] - mean) * rstd * (along / n));
        else EACH(at) to_x[at] = factor * g[at];
    }
    if (threadIdx.x) return;
    if (to_weight) to_weight[channel] = along;
    if (to_bias) to_bias[channel] = total;
}
"""
)
_FLOATS = ", float"  # for each channel, where the rest is halves
_NAMES = "batch_norm", "batch_norm_backward"
_kernels = Templates(_SOURCE, [(name, more) for name in _NAMES for more in ("", _FLOATS)])
_THREADS = (256,)


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    kept = _kept(input, weight, bias, running_mean, running_var)
    if kept is None:
        return NotImplemented
    n, channels, inner = _sizes(input)
    made = cupy.empty_like(input)
    mean, rstd = cupy.empty((2, channels if training else 0), kept)
    given = input, weight, bias, running_mean, running_var, made, mean, rstd, n, inner, np.int32(training)
    numbers = float(momentum), float(eps)
    _kernels.launch("batch_norm", input.dtype, channels, _THREADS, (*given, *numbers), _more(input, kept))
    return made, mean, rstd


def _batch_norm_backward(
    g: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, mean: Any, rstd: Any, train: bool, eps: float,
    mask: Any,
) -> Any:  # fmt: skip
    mean, spread = (mean, rstd) if train else (running_mean, running_var)
    kept = _kept(input, weight, mean, spread)
    if kept is None or g.dtype != input.dtype:
        return NotImplemented
    n, channels, inner = _sizes(input)
    to_x = cupy.empty_like(input) if mask[0] else None
    to_weight, to_bias = (cupy.empty(channels, kept) if wanted else None for wanted in mask[1:3])
    parts = mean, spread, to_x, to_weight, to_bias
    given = cupy.ascontiguousarray(g), input, weight, *parts, n, inner, np.int32(train), float(eps)
    _kernels.launch("batch_norm_backward", input.dtype, channels, _THREADS, given, _more(input, kept))
    return to_x, to_weight, to_bias


def _kept(input: Any, *of_channels: Any) -> Any:
    """The type of what there is one of for each channel: that of the input, or float32; None for any other."""
    given = [a for a in of_channels if a is not None]
    dtype = given[0].dtype if given else input.dtype
    known = dtype in (input.dtype, summed(input.dtype)) and rows_of_one_type(input)
    return dtype if known and all([a.dtype == dtype and a.flags.c_contiguous for a in given]) else None


def _more(input: Any, kept: Any) -> str:
    return "" if kept == input.dtype else _FLOATS


def _sizes(input: Any) -> tuple[int, int, int]:
    """How many elements a channel has, how many channels there are, and how many elements of one lie together."""
    channels = input.shape[1]
    n = input.size // channels
    return n, channels, n // input.shape[0]


KERNELS = {"native_batch_norm": _batch_norm, "native_batch_norm_backward": _batch_norm_backward}
