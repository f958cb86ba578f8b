"""Sums and sums of products in one pass, for which einsum is the fastest; in stretches, since it adds in sequence."""

from __future__ import annotations

from typing import Any

from ...core.values import Array, Namespace
from ...kernels.summing import FEW, add_reduce

ROWS, COLUMNS, CHANNELS = (1,), (0,), (0, 2)  # along which axes the elements of a matrix, or of batches of planes, go
_KEPT = {ROWS: (-1, 1), COLUMNS: (-1,), CHANNELS: (-1, 1)}  # shapes in which what is left broadcasts
_PLAIN = {ROWS: ("ij", "i"), COLUMNS: ("ij", "j"), CHANNELS: ("ijk", "j")}
_STACKED: dict[tuple[int, ...], tuple[str, str]] = {ROWS: ("iaj", "ia"), COLUMNS: ("aij", "aj")}
_RUN = 1024  # elements of a row


def carried(xp: Namespace, array: Array) -> Any:
    """The dtype to carry a total in: rounding errors would add up in single precision."""
    return {"f4": xp.float64, "c8": xp.complex128}.get(array.dtype.str[1:], array.dtype)


def sum_along(xp: Namespace, x: Array, axes: tuple[int, ...]) -> Array:
    return _dots(xp, axes, x).reshape(_KEPT[axes])


def sum_of_products(xp: Namespace, x: Array, y: Array, axes: tuple[int, ...]) -> Array:
    return _dots(xp, axes, x, y).reshape(_KEPT[axes])


def _dots(xp: Namespace, axes: tuple[int, ...], *arrays: Any) -> Any:
    shape = arrays[0].shape
    if axes is CHANNELS and (shape[0] > FEW or shape[2] > 2 * _RUN):
        rows = _dots(xp, ROWS, *[a.reshape((shape[0] * shape[1], shape[2])) for a in arrays])
        return add_reduce(xp, rows.reshape(shape[:2]), 0, False)
    at, size = (1, _RUN) if axes is ROWS else (0, FEW)
    n = shape[at]
    if axes is CHANNELS or n <= 2 * size:
        return _einsum(xp, _PLAIN[axes], arrays)
    whole = n - n % size
    stacks = (shape[0], -1, size) if axes is ROWS else (-1, size, shape[1])
    each = _einsum(xp, _STACKED[axes], [_part(a, at, 0, whole).reshape(stacks) for a in arrays])
    total = add_reduce(xp, each, at, False)
    return total + _dots(xp, axes, *[_part(a, at, whole, n) for a in arrays]) if whole < n else total


def _einsum(xp: Namespace, form: tuple[str, str], arrays: Any) -> Array:
    return xp.einsum(f"{','.join([form[0]] * len(arrays))}->{form[1]}", *arrays)


def _part(array: Array, axis: int, start: int, stop: int) -> Any:
    return array[:, start:stop] if axis else array[start:stop]
