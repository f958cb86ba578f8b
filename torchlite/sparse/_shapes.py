"""Rearranging sparse tensors: transposes, joining, selecting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..backends.sparse import Compressed, CompressedBackend, Coo, CooBackend, compressed, coo, layout_name
from ..core.machine import Tensor
from ..core.values import dt, missing_kernel_of, wrap_dim
from ..core.values.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..operations.formulas import tensors
from ._family import is_coo, is_sparse, rule, tensor

# ---- orders of dimensions


@CooBackend.rule("permute")
def permute(t: Tensor, dims: Sequence[int]) -> Tensor:
    array: Coo = t._array
    dims = [wrap_dim(d, t.dim()) for d in dims]
    if len(dims) != t.dim() or len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    sparse = array.sparse_dim
    if any((d < sparse) is not (at < sparse) for at, d in enumerate(dims)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
            "transpositions within sparse and dense dimensions are supported."
        )
    moved, rest = dims[:sparse], [d - sparse + 1 for d in dims[sparse:]]
    same = moved == sorted(moved)
    indices = array.indices if same else tensor(array.indices._array[moved], array.indices._backend.home)
    values = array.values if rest == sorted(rest) else array.values.permute((0, *rest))
    shape = [t.shape[d] for d in dims]
    return coo(indices, values, shape, same and array.coalesced)


@CooBackend.rule("transpose")
def transpose(t: Tensor, dim0: int, dim1: int) -> Tensor:
    a, b = (wrap_dim(d, t.dim()) for d in (dim0, dim1))
    sparse = t._array.sparse_dim
    if a != b and max(a, b) >= sparse:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {sparse}, d0: {a}, d1: {b}"
        )
    if not t.dim():
        return t._alias()
    dims = list(range(t.dim()))
    dims[a], dims[b] = b, a
    return permute(t, dims)


@rule("t")
def _t(t: Tensor) -> Tensor:
    if t.dim() > 2 or (t.dim() == 2 and is_coo(t) and t._array.sparse_dim not in (0, 2)):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{t.sparse_dim()} sparse and {t.dense_dim()} dense dimensions"
        )
    if t.dim() < 2:
        return t._alias()
    if not is_coo(t):
        return _transpose_compressed(t, 0, 1)
    array = t._array
    if not array.sparse_dim:
        return permute(t, (1, 0))
    turned = tensor(array.indices._array[::-1], array.indices._backend.home)
    return coo(turned, array.values, array.shape[::-1], array.coalesced and not array.nnz)


_TRANSPOSED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


@CompressedBackend.rule("transpose")
def _transpose_compressed(t: Tensor, dim0: int, dim1: int) -> Tensor:
    array, batch = t._array, len(t._array.batch)
    dims = [wrap_dim(d, t.dim()) for d in (dim0, dim1)]
    a, b = sorted(dims)
    if a == b:
        return t._alias()
    shape = list(t.shape)
    shape[a], shape[b] = shape[b], shape[a]
    if (a, b) == (batch, batch + 1):
        values = array.values.transpose(batch + 1, batch + 2) if array.blocked else array.values
        return compressed(_TRANSPOSED[t.layout], array.compressed, array.plain, values, shape)
    if b < batch:
        return compressed(t.layout, *[part.transpose(a, b) for part in array.parts()], shape)  # type: ignore[call-arg]
    first, second = [f"{d}({'Batch' if d < batch else 'Sparse' if d < batch + 2 else 'Dense'})" for d in dims]
    raise RuntimeError(
        f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {first} and {second}"
    )


@CompressedBackend.rule("t transpose", in_place=True)
def _turn_compressed(t: Tensor, *dims: int) -> NoReturn:
    raise RuntimeError(f"torch.transpose_: in-place transposition is not supported for {layout_name(t)} layout")


# ---- joining


@CooBackend.rule("cat")
def cat(ts: Sequence[Tensor], dim: int) -> Tensor:
    if not is_coo(ts[0]):
        raise missing_kernel_of("_values", ts[0]._backend.real)
    for at, t in enumerate(ts):
        if not is_coo(t):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first = ts[0]._array
    dim = wrap_dim(dim, len(first.shape))
    for at, t in enumerate(ts):
        same = [n for d, n in enumerate(t.shape) if d != dim] == [n for d, n in enumerate(first.shape) if d != dim]
        if not same or t._array.sparse_dim != first.sparse_dim:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                f"but found shape: {list(t.shape)} at position {at}"
            )
    shape = list(first.shape)
    shape[dim] = sum([t.shape[dim] for t in ts])
    if dim >= first.sparse_dim:
        return _cat_dense([t._array for t in ts], dim - first.sparse_dim + 1, shape)
    parts, before = [], 0
    for t in ts:
        indices = t._array.indices.clone()
        indices[dim] += before
        parts.append(indices)
        before += t.shape[dim]
    return coo(tensors.cat(parts, 1), tensors.cat([t._array.values for t in ts]), shape)


def _cat_dense(arrays: Sequence[Coo], dim: int, shape: Sequence[int]) -> Tensor:
    """Along a dense dimension, where the others have no values they have zeros."""
    values, before = [], 0
    width = sum([a.values.shape[dim] for a in arrays])
    for a in arrays:
        own = a.values
        low, high = list(own.shape), list(own.shape)
        low[dim], high[dim] = before, width - before - own.shape[dim]
        values.append(tensors.cat([own.new_zeros(low), own, own.new_zeros(high)], dim))
        before += own.shape[dim]
    return coo(tensors.cat([a.indices for a in arrays], 1), tensors.cat(values), shape)


@CooBackend.rule("stack")
def _stack(ts: Sequence[Tensor], dim: int) -> Tensor:
    dim = wrap_dim(dim, ts[0].dim() + 1)
    return cat([t.unsqueeze(dim) for t in ts], dim)


@CooBackend.rule("unsqueeze")
def _unsqueeze(t: Tensor, dim: int) -> Tensor:
    array: Coo = t._array
    dim = wrap_dim(dim, t.dim() + 1)
    shape = (*t.shape[:dim], 1, *t.shape[dim:])
    if dim > array.sparse_dim:
        return coo(array.indices, array.values.unsqueeze(dim - array.sparse_dim + 1), shape)
    rows = array.indices
    indices = tensors.cat([rows[:dim], rows.new_zeros((1, rows.shape[1])), rows[dim:]])
    return coo(indices, array.values, shape)


# ---- parts


def _in_range(t: Tensor, dim: int, index: int, name: str = "select") -> int:
    size = t.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"{name}(): index {index} out of range for tensor of size {list(t.shape)} at dimension {dim}")
    return index % size


@CooBackend.rule("select.int")
def select(t: Tensor, dim: int, index: int) -> Tensor:
    array: Coo = t._array
    if not t.dim():
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, t.dim())
    index = _in_range(t, dim, index)
    shape = (*t.shape[:dim], *t.shape[dim + 1 :])
    if dim >= array.sparse_dim:
        values = array.values.select(dim - array.sparse_dim + 1, index)
        return coo(array.indices, values, shape, array.coalesced)
    rows = (array.indices[dim] == index).nonzero().flatten()
    values, indices = array.values.index_select(0, rows), array.indices.index_select(1, rows)
    if array.sparse_dim == 1:
        return values.sum(0, dtype=t.dtype)
    rest = tensors.cat([indices[:dim], indices[dim + 1 :]])
    return coo(rest, values, shape)


def _selected(t: Tensor, dim: int, index: int, name: str) -> Tensor:
    array = t._array
    index, batch = _in_range(t, dim, index, name), len(array.batch)
    if dim < batch:
        shape = (*t.shape[:dim], *t.shape[dim + 1 :])
        return compressed(t.layout, *[part.select(dim, index) for part in array.parts()], shape)  # type: ignore[call-arg]
    if dim < batch + 2:
        if batch:
            raise RuntimeError(
                f"{name}(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
            )
        made = select(t.to_sparse(), dim, index)
        made._array.coalesced = True
        return made
    return like_shape(t, array.values.select(dim - 1 - batch + 2 * array.blocked, index), dim)


@CompressedBackend.rule("select.int")
def _select_compressed(t: Tensor, dim: int, index: int) -> Tensor:
    """What is selected; that of several blocks has to lie in steps in PyTorch's memory."""
    dim, array = wrap_dim(dim, t.dim()), t._array
    made = _selected(t, dim, index, "select")
    if array.blocked and is_coo(made):
        height, width = array.blocksize
        count = made._array.nnz // array.blocksize[1 - dim]
        if t.layout is sparse_bsc:
            in_steps = dim == 1 or width == 1
        else:
            in_steps = height == 1 or (count == array.nnz if dim else width == 1)
        if count > 1 and not in_steps:
            raise RuntimeError("select(): no view exists for the given input, consider using torch.select_copy.")
    return made


def like_shape(t: Tensor, values: Tensor, dim: int) -> Tensor:
    """The tensor without a dense dimension."""
    starts, plain, _ = t._array.parts()
    return compressed(t.layout, starts, plain, values, (*t.shape[:dim], *t.shape[dim + 1 :]))


@rule("unbind.int")
def _unbind(t: Tensor, dim: int) -> tuple[Any, ...]:
    return tuple([t.select(dim, i) for i in range(t.shape[wrap_dim(dim, t.dim())])])


@CompressedBackend.rule("select_copy")
def _select_copy(t: Tensor, dim: int, index: int) -> Tensor:
    return _selected(t, wrap_dim(dim, t.dim()), index, "select_copy").clone()


@CompressedBackend.rule("resize_", in_place=True)
def _resize(t: Tensor, size: Sequence[int]) -> None:
    """Give a matrix of compressed rows more columns, or other rows; the last one has the values of those taken away."""
    array = t._array
    if t.layout is not sparse_csr or len(size) != 2 or t.dim() != 2:
        raise missing_kernel_of("resize_", t._backend.real)
    if size[1] < t.shape[1]:
        raise RuntimeError(
            "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original "
            f"number of columns is {t.shape[1]} while the requested new number of columns is {size[1]}."
        )
    starts, rows = array.compressed, size[0]
    more = starts.new_full((max(rows + 1 - starts.shape[0], 0),), array.nnz)
    starts = tensors.cat([starts[: rows + 1], more])
    starts[-1] = nnz = array.nnz if rows else 0
    array.become(Compressed(t.layout, starts, array.plain[:nnz].clone(), array.values[:nnz].clone(), size))


@CooBackend.rule("index_select")
def index_select(t: Tensor, dim: int, index: Tensor) -> Tensor:
    array: Coo = t._array
    if not t.dim():
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    if index.dim() != 1 or is_sparse(index) or index.dtype is not dt.int64:
        raise IndexError("index_select() argument index must be 1-D strided (non-sparse) long-tensor.")
    dim, size = wrap_dim(dim, t.dim()), index.numel()
    n = t.shape[dim]
    outside = (index < -n) | (index >= n)
    if bool(outside.any()):
        raise IndexError(
            f"index_select(): index contains {int(index[outside][0])} that is out of range for tensor of size "
            f"{list(t.shape)} at dimension {dim}"
        )
    index = index.remainder(n) if n else index
    shape = (*t.shape[:dim], size, *t.shape[dim + 1 :])
    if dim >= array.sparse_dim:
        values = array.values.index_select(dim - array.sparse_dim + 1, index)
        return coo(array.indices, values, shape, array.coalesced)
    own = array.indices[dim]
    order = own.argsort(stable=True)
    ordered = own[order]
    low, high = tensors.searchsorted(ordered, index), tensors.searchsorted(ordered, index, right=True)
    counts = high - low
    which = tensors.repeat_interleave(tensors.arange(size, device=index.device), counts)
    begins = counts.cumsum(0) - counts
    at = order[low[which] + tensors.arange(which.numel(), device=index.device) - begins[which]]
    indices = array.indices.index_select(1, at)
    indices[dim] = which
    return coo(indices, array.values.index_select(0, at), shape)


@CooBackend.rule("narrow_copy")
def _narrow_copy(t: Tensor, dim: int, start: int, length: int) -> Tensor:
    dim = wrap_dim(dim, t.dim())
    start = start + t.shape[dim] if start < 0 else start
    if start + length > t.shape[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {t.shape[dim]})."
        )
    array: Coo = t._array
    if dim >= array.sparse_dim:
        shape = (*t.shape[:dim], length, *t.shape[dim + 1 :])
        values = array.values.narrow(dim - array.sparse_dim + 1, start, length)
        return coo(array.indices, values, shape, array.coalesced)
    own = array.indices[dim]
    kept = ((own >= start) & (own < start + length)).nonzero().flatten()
    indices = array.indices.index_select(1, kept)
    indices[dim] -= start
    shape = (*t.shape[:dim], length, *t.shape[dim + 1 :])
    return coo(indices, array.values.index_select(0, kept), shape, array.coalesced)


@rule("embedding")
def _embedding(weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    made = weight.index_select(0, indices.long().reshape(-1))
    return made if indices.dim() == 1 else made.view(*indices.shape, *weight.shape[1:])


# ---- what dense tensors alone do


@CooBackend.rule("expand repeat")
def _expand(t: Tensor, *_: Any) -> Any:
    raise RuntimeError("expand is unsupported for Sparse tensors")
