"""Sums along dimensions in which few rounding errors meet.

NumPy adds in pairs along the dimension that lies together in memory, but one element after the other along the others.
There, long dimensions are folded first: each number is a sum of a few, the next one of a few of those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.values import Array, Namespace, dt

FEW = 32  # elements that are added one after the other
_WIDE = 2048  # bytes from one element to the next, from which on neighbours are folded together


def widened(array: Array) -> Any:
    """Halves, and numbers of 8 bits, as float32, to compute with; other types as they are."""
    return array.astype(dt.float32.numpy) if array.dtype.itemsize <= 2 and array.dtype.kind in "fV" else array


def add_reduce(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    """The sum along an axis, several or all (None)."""
    if array.size > 2 * FEW and array.ndim > 1 and array.__class__ is np.ndarray:  # devices add in trees
        axes = axis if axis.__class__ is tuple else range(array.ndim) if axis is None else (axis,)
        array = _folded(xp, array, tuple(axes))
    return xp.add.reduce(array, axis=axis, keepdims=keepdim)


def _folded(xp: Namespace, array: Array, axes: tuple[int, ...]) -> Any:
    """The array, with few elements left along those `axes` that are not added in pairs."""
    shape, strides, ndim = array.shape, array.strides, array.ndim
    axes = tuple([a % ndim for a in axes])
    if min(axes, default=ndim) == ndim - len(axes) and array.flags.c_contiguous:
        return array
    step, inner = math.inf, ndim
    for d in range(ndim):
        if shape[d] > 1 and abs(strides[d]) <= step:
            step, inner = abs(strides[d]), d
    outer = [a for a in axes if a != inner]
    while math.prod([array.shape[a] for a in outer]) > 2 * FEW:
        array = _fold(xp, array, max(outer, key=array.shape.__getitem__))
    return array


def _fold(xp: Namespace, array: Array, axis: int) -> Any:
    """Sums of few elements along an axis: of those far from each other where that makes longer runs in memory."""
    shape, n = array.shape, array.shape[axis]
    left = -(-n // FEW)
    each = n // left
    whole = left * each
    near = abs(array.strides[axis]) >= _WIDE
    split = (left, each) if near else (each, left)
    before = (slice(None),) * axis
    stacks = array[(*before, slice(whole))].reshape((*shape[:axis], *split, *shape[axis + 1 :]))
    sums = xp.add.reduce(stacks, axis=axis + 1 if near else axis)
    if whole < n:
        sums[(*before, slice(n - whole))] += array[(*before, slice(whole, n))]
    return sums
