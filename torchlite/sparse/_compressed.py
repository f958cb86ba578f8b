"""Tensors of compressed rows or columns, as coordinates and as dense ones."""

from __future__ import annotations

import math
from typing import Any

from ..backends.sparse import Compressed, Coo, coo
from ..core.machine import Tensor
from ..kernels import sparse as kernels
from ._coo import at_places, dense
from ._family import tensor


def major(array: Compressed) -> Any:
    """The row (or column) of each value of a matrix, counted through the whole batch."""
    backend = array.compressed._backend.home
    xp, starts = backend.xp, array.compressed._array
    count, total = math.prod(array.batch), array.plain._array.size
    whole = starts.reshape((count, starts.shape[-1]))[:, :-1] + (xp.arange(count) * array.nnz).reshape((-1, 1))
    return kernels.rows_of(xp, xp.concatenate([whole.reshape(-1), xp.full(1, total, xp.int64)]), total)


def coordinates(array: Compressed) -> tuple[Any, Any]:
    """Indices (with the batch dimensions in front) and values, blocks as dense dimensions, in order of the layout."""
    backend = array.compressed._backend.home
    xp, batch = backend.xp, array.batch
    lines, plain = major(array), array.plain._array.reshape(-1).astype(xp.int64, copy=False)
    count = array.compressed._array.shape[-1] - 1
    rows, columns = (lines % max(count, 1), plain) if array.by_rows else (plain, lines % max(count, 1))
    front = kernels.unflattened(xp, lines // max(count, 1), batch)
    values = array.values._array.reshape((plain.size, *array.values._array.shape[len(batch) + 1 :]))
    return xp.concatenate([front, rows[None], columns[None]]), values


def as_coo(t: Tensor) -> Tensor:
    """A compressed tensor as coordinates of all the values that it has."""
    array: Compressed = t._array
    backend = array.values._backend.home
    xp, batch = backend.xp, len(array.batch)
    indices, values = coordinates(array)
    ordered = len(values) < 2 or (array.by_rows and (not array.blocked or array.blocksize[0] == 1))
    if array.blocked:
        height, width = array.blocksize
        inner = xp.indices((height, width)).reshape((2, 1, -1))
        spread = indices[batch:, :, None] * xp.asarray([height, width]).reshape((2, 1, 1)) + inner
        front = xp.broadcast_to(indices[:batch, :, None], (batch, *spread.shape[1:]))
        indices = xp.concatenate([front, spread]).reshape((batch + 2, -1))
        values = values.reshape((-1, *values.shape[3:]))
    return coo(tensor(indices, backend), tensor(values, backend), array.shape, ordered)


def compressed_as_dense(t: Tensor) -> Tensor:
    """The dense tensor of all values."""
    array: Compressed = t._array
    if not array.blocked:
        return dense(as_coo(t)._array)
    backend, batch = array.values._backend.home, len(array.batch)
    indices, values = coordinates(array)
    blocks = dense(Coo(tensor(indices, backend), tensor(values, backend), _grid(array)))
    return blocks.movedim(batch + 2, batch + 1).reshape(array.shape)


def _grid(array: Compressed) -> tuple[int, ...]:
    """The shape of the array with its blocks behind the rows and columns of blocks."""
    batch, (height, width) = len(array.batch), array.blocksize
    *front, rows, columns = array.shape[: batch + 2]
    return (*front, rows // height, columns // width, height, width, *array.shape[batch + 2 :])


def values_there(t: Tensor, array: Compressed) -> Tensor:
    """The values that a dense tensor has where a compressed array has some."""
    indices = tensor(coordinates(array)[0], array.values._backend.home)
    if array.blocked:
        batch, grid = len(array.batch), _grid(array)
        at = batch + 1
        t = t.reshape((*grid[:at], grid[batch + 2], grid[at], *grid[batch + 3 :])).movedim(batch + 1, batch + 2)
    return at_places(t, indices).reshape(array.values.shape).contiguous()
