"""Negative log likelihood; targets and probabilities are checked without a wait."""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from . import asserts
from .raw import SUMS, Templates, rows_of_one_type

_NONE, _MEAN = 0, 1  # reductions

_SOURCE = (
    asserts.SOURCE
    + r"""
// Where in the input the element lies that the target's class names; -1 for a class to be ignored, or for none.
__device__ long long place_of(long long at, const long long* target, long long ignored, long long classes,
                              long long inner, long long* found) {
    const long long wanted = target[at];
    if (wanted == ignored) return -1;
    if (wanted < 0 || wanted >= classes) { wrong(found, 1, wanted); return -1; }
    return (at / inner * classes + wanted) * inner + at % inner;
}

template <typename S, typename T = SUM(S)>
__global__ void nll(const S* x, const long long* target, const S* weight, S* loss, S* total, long long count,
                    long long ignored, long long classes, long long inner, int mean, long long* found) {
    __shared__ T losses[256], weights[256];
    T sum = 0, weighed = 0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) {
        const long long place = place_of(i, target, ignored, classes, inner, found);
        if (place < 0) continue;
        const T w = weight ? T(weight[target[i]]) : T(1);
        sum -= w * x[place];
        weighed += w;
    }
    losses[threadIdx.x] = sum;
    weights[threadIdx.x] = weighed;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            losses[threadIdx.x] += losses[threadIdx.x + half];
            weights[threadIdx.x] += weights[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) { *loss = mean ? losses[0] / weights[0] : losses[0]; *total = weights[0]; }
}

template <typename S, typename T = SUM(S)>
__global__ void nll_backward(const S* g, const long long* target, const S* weight, const S* total, S* out,
                             long long size, long long ignored, long long classes, long long inner, int mean,
                             int each, long long* found) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= size) return;
    const long long i = at / (classes * inner) * inner + at % inner;
    T made = 0;
    if (place_of(i, target, ignored, classes, inner, found) == at) {
        made = -T(each ? g[i] : *g) * (weight ? T(weight[target[i]]) : T(1));
        if (mean) made /= *total;
    }
    out[at] = made;
}
"""
)
_kernels = Templates(_SOURCE, (("nll", ""), ("nll_backward", "")))
_THREADS = 256


def _knows(array: Any, target: Any, weight: Any) -> bool:
    return target.dtype == np.int64 and target.size > 0 and rows_of_one_type(array, weight)


def _nll(input: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    if reduction == _NONE or not _knows(input, target, weight):
        return NotImplemented
    target = cupy.ascontiguousarray(target)
    loss, total = cupy.empty((), input.dtype), cupy.empty((), input.dtype)
    classes = input.shape[1 if input.ndim > 1 else 0]
    arguments = (
        input, target, weight, loss, total, target.size, ignore_index, classes, math.prod(input.shape[2:]),
        np.int32(reduction == _MEAN), asserts.places(),
    )  # fmt: skip
    _kernels.launch("nll", input.dtype, 1, (_THREADS,), arguments)
    return loss, total


def _nll_backward(g: Any, input: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total: Any) -> Any:
    if not _knows(input, target, weight) or g.dtype != input.dtype or not g.flags.c_contiguous:
        return NotImplemented
    made, target = cupy.empty_like(input), cupy.ascontiguousarray(target)
    classes = input.shape[1 if input.ndim > 1 else 0]
    arguments = (
        g, target, weight, total, made, made.size, ignore_index, classes, math.prod(input.shape[2:]),
        np.int32(reduction == _MEAN), np.int32(g.ndim > 0), asserts.places(),
    )  # fmt: skip
    _kernels.launch("nll_backward", input.dtype, -(-made.size // _THREADS), (_THREADS,), arguments)
    return made


_in_unit = cupy.ElementwiseKernel(
    "S x, S y, int64 found", "",
    "const typename torchlite_sum<S>::type p(x), q(y);"
    "if (!(p >= 0 && p <= 1 && q >= 0 && q <= 1)) wrong((long long*)found, 3, 0)",
    "torchlite_in_unit", preamble=SUMS + asserts.SOURCE,
)  # fmt: skip


def check_probabilities(input: Any, target: Any) -> None:
    """Let the next wait for the device raise, if an element does not lie between 0 and 1."""
    if input.size:
        _in_unit(input, target, int(asserts.places()))


KERNELS = {
    "nll_loss_forward": _nll,
    "nll_loss2d_forward": _nll,
    "nll_loss_backward": _nll_backward,
    "nll_loss2d_backward": _nll_backward,
}
