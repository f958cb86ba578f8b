"""Linear maps of one dimension to another, as images are resampled by: a launch for each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy

from .raw import TYPES, Templates, rows_of_one_type

_SOURCE = r"""
// Results have `count` places along the dimension, operands `size`; what lies within each is `inner` elements long.
template <typename S>
__global__ void along(const S* x, S* y, const long long* starts, const long long* places, const S* weights,
                      long long total, long long count, long long size, long long inner) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= total) return;
    const long long row = at / inner % count;
    x += at / inner / count * size * inner + at % inner;
    S sum = 0;
    for (long long k = starts[row]; k < starts[row + 1]; k++)
        sum += weights ? x[places[k] * inner] * weights[k] : x[places[k] * inner];
    y[at] = sum;
}
"""
_kernels = Templates(_SOURCE, (("along", ""),))
_THREADS = 256


def map_all(x: Any, steps: Sequence[Any]) -> Any:
    """An array mapped along some of its dimensions, one after the other."""
    if not rows_of_one_type(x, types=TYPES):
        return NotImplemented
    for axis, _, (starts, places, weights) in steps:
        count, size, inner = len(starts) - 1, x.shape[axis], math.prod(x.shape[axis + 1 :])
        made = cupy.empty((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)
        if made.size:
            given = x, made, starts, places, weights, made.size, count, size, inner
            _kernels.launch("along", x.dtype, -(-made.size // _THREADS), (_THREADS,), given)
        x = made
    return x
