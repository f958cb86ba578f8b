"""What sparse tensors are computed by: runs of equal places, and products of compressed rows with matrices.

The native build multiplies floats and doubles, SciPy's kernels (on CUDA, CuPy's) all else where there are any; without
them, sorted runs are added up.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

from ..core.native import in_c
from ..core.values import Array, Namespace
from .summing import widened

_SHORT = 8  # runs of no more rows than this are added up row by row
_AT_ONCE = 1 << 20  # elements of products that are made before they are added up


def _name(xp: Namespace) -> str:
    return getattr(xp, "__name__", "")


@functools.cache
def library(xp: Namespace) -> Any:
    """The sparse matrices that go with an array namespace; None where they are not installed."""
    name = _name(xp)
    try:
        if name == "numpy":
            return importlib.import_module("scipy.sparse")
        importlib.import_module(f"{name}x.cusparse")  # the driver's library that the matrices call
        return importlib.import_module(f"{name}x.scipy.sparse")
    except ImportError:
        return None


def flat_places(xp: Namespace, indices: Array, sizes: Sequence[int]) -> Any:
    """The columns of `indices` as places in a row-major array of these sizes."""
    if not sizes:
        return xp.zeros(indices.shape[1], xp.int64)
    flat = indices[0].astype(xp.int64, copy=False)
    for row, size in zip(indices[1:], sizes[1:], strict=True):
        flat = flat * size + row
    return flat


def unflattened(xp: Namespace, flat: Array, sizes: Sequence[int]) -> Any:
    """Places in a row-major array of these sizes as columns of indices."""
    made = xp.empty((len(sizes), flat.size), xp.int64)
    for d in range(len(sizes) - 1, -1, -1):
        made[d] = flat % max(sizes[d], 1)
        flat = flat // max(sizes[d], 1)
    return made


def distinct(flat: Array) -> bool:
    """Whether places are in order, and none is named twice."""
    return bool((flat[1:] > flat[:-1]).all())


def first_of_runs(xp: Namespace, ordered: Array) -> Array:
    """Where each run of equals begins."""
    new = xp.ones(ordered.size, bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return xp.flatnonzero(new)


def sum_runs(xp: Namespace, values: Array, starts: Array) -> Any:
    """The sums of runs of rows, none of them empty, each in order; of booleans, whether any is true."""
    if not starts.size:
        return values[:0]
    kind = values.dtype.kind
    ufunc = xp.logical_or if kind == "b" else xp.add
    lengths = xp.diff(xp.concatenate([starts, xp.full(1, len(values), starts.dtype)]))
    longest = int(lengths.max())
    if longest <= _SHORT:
        sums = values[starts]
        for at in range(1, longest):
            longer = xp.flatnonzero(lengths > at)
            sums[longer] = ufunc(sums[longer], values[starts[longer] + at])
        return sums
    if hasattr(ufunc, "reduceat") and kind != "V":
        return ufunc.reduceat(values, starts, axis=0, dtype=values.dtype)
    sums = values.astype(xp.float32) if kind == "V" else values.astype(xp.int64) if kind == "b" else values
    sums = xp.concatenate([xp.zeros((1, *sums.shape[1:]), sums.dtype), sums.cumsum(0)])
    return (sums[starts + lengths] - sums[starts]).astype(values.dtype)


def combined(xp: Namespace, flat: Array, values: Array) -> tuple[Any, Any]:
    """Different places in order, as positions in `flat`, and the sums of the values at each."""
    order = flat.argsort(kind="stable")
    starts = first_of_runs(xp, flat[order])
    return order[starts], sum_runs(xp, values[order], starts)


def turns(xp: Namespace, *lists: Array) -> Any:
    """Numbers for the places of lists that are in order, one behind the other: alike for the first of each list at a
    place, for the second, and so on. None where a list is not in order."""
    if not all((flat[1:] >= flat[:-1]).all() for flat in lists):
        return None
    flat, turn = [xp.concatenate(each) for each in (lists, [xp.arange(f.size) - xp.searchsorted(f, f) for f in lists])]
    return flat * (turn.max(initial=0) + 1) + turn


def pointers(xp: Namespace, rows: Array, count: int) -> Any:
    """Where each of `count` rows begins among row numbers in order, and where the last one ends."""
    made = xp.zeros(count + 1, xp.int64)
    if rows.size:
        made[1:] = xp.cumsum(xp.bincount(rows, minlength=count))
    return made


def rows_of(xp: Namespace, starts: Array, count: int) -> Array:
    """The row of each of `count` values, given where rows begin and end."""
    inside = starts[1:-1]
    if not inside.size:
        return xp.zeros(count, xp.int64)
    return xp.cumsum(xp.bincount(inside, minlength=count + 1)[:count])


def _product(
    xp: Namespace, rows: Array, columns: Array, values: Array, dense: Array, count: int, fused: bool = True
) -> Any:
    """A matrix of so many rows, with these values at these places, times a dense one or a vector.

    In C, a product that is not fused with its sum is rounded first.
    """
    kind, sparse = values.dtype.kind, library(xp)
    if kind in "fV" and values.dtype.itemsize <= 2:
        wide = product(xp, rows, columns, values.astype(xp.float32), dense.astype(xp.float32), count, fused)
        return wide.astype(values.dtype)
    if sparse is not None and (_name(xp) == "numpy" or kind in "fc"):
        places = rows.astype(xp.int64, copy=False), columns.astype(xp.int64, copy=False)
        return sparse.coo_matrix((values, places), (count, len(dense))) @ dense
    if rows.size and not bool((rows[1:] >= rows[:-1]).all()):
        order = rows.argsort(kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    return _by_runs(xp, pointers(xp, rows, count), columns, values, dense)


def _product_of_rows(xp: Namespace, starts: Array, columns: Array, values: Array, dense: Array) -> Any:
    """The same where compressed rows are given."""
    kind, sparse = values.dtype.kind, library(xp)
    if sparse is not None and kind in "fciu" and values.dtype.itemsize > 2:
        return _matrix(sparse, starts, columns, values, (starts.size - 1, len(dense))) @ dense
    return product(xp, rows_of(xp, starts, values.size), columns, values, dense, starts.size - 1, False)


product = in_c("sparse.product", _product)
product_of_rows = in_c("sparse.product_of_rows", _product_of_rows)


def _matrix(sparse: Any, starts: Array, columns: Array, values: Array, shape: tuple[int, int]) -> Any:
    """The library's matrix over arrays, without its checks, which would copy them."""
    made = sparse.csr_matrix(shape, dtype=values.dtype)
    made.indptr, made.indices, made.data = starts, columns.astype(starts.dtype, copy=False), values
    return made


def _by_runs(xp: Namespace, starts: Array, columns: Array, values: Array, dense: Array) -> Any:
    """The same, some rows at a time."""
    rows, rest = starts.size - 1, dense.shape[1:]
    made = xp.zeros((rows, *rest), dense.dtype)
    filled = xp.flatnonzero(starts[1:] > starts[:-1])
    step = max(1, _AT_ONCE * max(rows, 1) // max(1, values.size * (*rest, 1)[0]))
    for at in range(0, filled.size, step):
        some = filled[at : at + step]
        low, high = int(starts[some[0]]), int(starts[some[-1] + 1])
        products = values[low:high].reshape((-1, *(1,) * len(rest))) * dense[columns[low:high]]
        made[some] = sum_runs(xp, products, starts[some] - low)
    return made


def _samples(xp: Namespace, rows: Array, columns: Array, a: Array, b: Array) -> Any:
    """The products of those rows of two matrices that `rows` and `columns` name."""
    made, step = xp.empty(rows.size, a.dtype), max(1, _AT_ONCE // max(1, a.shape[1]))
    for at in range(0, rows.size, step):
        each = widened(a[rows[at : at + step]]) * widened(b[columns[at : at + step]])
        made[at : at + step] = each.sum(1).astype(a.dtype)
    return made


samples = in_c("sparse.samples", _samples)


def sparse_product(
    xp: Namespace, starts: Array, columns: Array, values: Array, other: tuple[Any, Any, Any], width: int
) -> tuple[Any, Any, Any]:
    """The product of two matrices of compressed rows: where its rows begin, its columns in order, its values."""
    starts2, columns2, values2 = other
    sparse = library(xp)
    if sparse is not None and values.dtype.kind in "fciu" and values.dtype.itemsize > 2:
        a = _matrix(sparse, starts, columns, values, (starts.size - 1, starts2.size - 1))
        made = a @ _matrix(sparse, starts2, columns2, values2, (starts2.size - 1, width))
        made.sort_indices()
        return made.indptr.astype(xp.int64), made.indices.astype(xp.int64), made.data
    counts = (starts2[1:] - starts2[:-1])[columns]  # so many products has each value of the left one
    begins = xp.concatenate([xp.zeros(1, xp.int64), xp.cumsum(counts)])
    left = rows_of(xp, begins, int(begins[-1]))
    right = starts2[columns[left]] + xp.arange(left.size) - begins[left]
    flat = rows_of(xp, starts, values.size)[left] * max(width, 1) + columns2[right]
    at, sums = combined(xp, flat, values[left] * values2[right])
    flat = flat[at]
    return pointers(xp, flat // max(width, 1), starts.size - 1), flat % max(width, 1), sums
