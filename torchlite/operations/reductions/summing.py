"""Sums along dimensions in which few rounding errors meet.

NumPy adds in pairs along the dimension that lies together in memory, but one element after the other along the others.
There, long dimensions are folded first: each number is a sum of a few, the next one of a few of those.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.declare.reduction import all_dims
from ...core.machine.array_backward import SUM

_FEW = 32  # elements that are added one after the other
_WIDE = 2048  # bytes from one element to the next, from which on neighbours are folded together


def add_reduce(xp: Any, array: Any, axis: Any, keepdim: bool) -> Any:
    if array.ndim > 1 and array.size > 2 * _FEW:
        array = _folded(xp, array, all_dims(array, axis))
    return xp.add.reduce(array, axis=axis, keepdims=keepdim)


SUM.append(add_reduce)


def _folded(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
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
    while math.prod([array.shape[a] for a in outer]) > 2 * _FEW:
        array = _fold(xp, array, max(outer, key=array.shape.__getitem__))
    return array


def _fold(xp: Any, array: Any, axis: int) -> Any:
    """Sums of few elements along an axis: of those far from each other where that makes longer runs in memory."""
    shape, n = array.shape, array.shape[axis]
    left = -(-n // _FEW)
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


def carried(xp: Any, array: Any) -> Any:
    """The dtype to carry a total in: rounding errors would add up in single precision."""
    return {"f4": xp.float64, "c8": xp.complex128}.get(array.dtype.str[1:], array.dtype)


# ---- sums and sums of products in one pass, for which einsum is the fastest; in stretches, since it adds in sequence

ROWS, COLUMNS, CHANNELS = (1,), (0,), (0, 2)  # along which axes the elements of a matrix, or of batches of planes, go
_KEPT = {ROWS: (-1, 1), COLUMNS: (-1,), CHANNELS: (-1, 1)}  # shapes in which what is left broadcasts
_PLAIN = {ROWS: ("ij", "i"), COLUMNS: ("ij", "j"), CHANNELS: ("ijk", "j")}
_STACKED = {ROWS: ("iaj", "ia"), COLUMNS: ("aij", "aj")}
_RUN = 1024  # elements of a row


def sum_along(xp: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return _dots(xp, axes, x).reshape(_KEPT[axes])


def sum_of_products(xp: Any, x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    return _dots(xp, axes, x, y).reshape(_KEPT[axes])


def _dots(xp: Any, axes: tuple[int, ...], *arrays: Any) -> Any:
    shape = arrays[0].shape
    if axes is CHANNELS and (shape[0] > _FEW or shape[2] > 2 * _RUN):
        rows = _dots(xp, ROWS, *[a.reshape((shape[0] * shape[1], shape[2])) for a in arrays])
        return add_reduce(xp, rows.reshape(shape[:2]), 0, False)
    at, size = (1, _RUN) if axes is ROWS else (0, _FEW)
    n = shape[at]
    if axes is CHANNELS or n <= 2 * size:
        return _einsum(xp, _PLAIN[axes], arrays)
    whole = n - n % size
    stacks = (shape[0], -1, size) if axes is ROWS else (-1, size, shape[1])
    each = _einsum(xp, _STACKED[axes], [_part(a, at, 0, whole).reshape(stacks) for a in arrays])
    total = add_reduce(xp, each, at, False)
    return total + _dots(xp, axes, *[_part(a, at, whole, n) for a in arrays]) if whole < n else total


def _einsum(xp: Any, form: tuple[str, str], arrays: Any) -> Any:
    return xp.einsum(f"{','.join([form[0]] * len(arrays))}->{form[1]}", *arrays)


def _part(array: Any, axis: int, start: int, stop: int) -> Any:
    return array[:, start:stop] if axis else array[start:stop]
