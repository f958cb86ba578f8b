"""Reductions of sparse tensors: of the values at the places where a mask has them, or without one of all values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..backends.sparse import Coo, coo
from ..core.machine import Tensor
from ..core.values import dt, not_implemented_for, sparse_coo, sparse_csr
from ..operations.formulas import tensors
from ..sparse._coo import coalesced, matched, places

_KNOWN = {sparse_coo: ("sum", "prod", "amax", "amin"), sparse_csr: ("sum", "prod", "amax", "amin", "mean")}


_WANTED = dict.fromkeys(_KNOWN[sparse_coo], "strided, sparse_coo or sparse_csr") | {"mean": "strided or sparse_csr"}


def refuse_layout(name: str, input: Tensor, mask: Tensor | None) -> NoReturn:
    """The error for a tensor of a layout that a masked function does not know."""
    if mask is not None and input.layout not in _KNOWN:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    what = "std/var" if name in ("std", "var") else name
    raise ValueError(f"masked {what} expects {_WANTED.get(name, 'strided')} tensor (got {input.layout} tensor)")


def reduced(
    name: str, input: Tensor, dims: Sequence[int], keepdim: bool, dtype: dt.dtype, mask: Tensor | None, identity: Any
) -> Tensor:
    """A reduction of a sparse tensor, in its layout."""
    if name not in _KNOWN.get(input.layout, ()):
        refuse_layout(name, input, None if name in ("mean", "std", "var") else mask)
    if mask is None and name != "sum":
        layout = str(input.layout).removeprefix("torch.")
        raise ValueError(f"masked {name} expects explicit mask for {layout} tensor input")
    if input.layout is sparse_csr:
        if not keepdim:
            error = AssertionError if name in ("amax", "amin", "mean") else RuntimeError
            raise error("reduction operations on CSR tensors with keepdim=False is unsupported")
        if name in ("amax", "amin", "mean") and list(dims) == [1] and not dtype.is_floating_point:
            raise not_implemented_for("_segment_reduce_cpu", dtype)
        mask = mask if mask is None else mask.to_sparse()
        made = _reduced(name, input.to_sparse(), dims, keepdim, dtype, mask, identity)
        return made.to_sparse_csr()
    return _reduced(name, input, dims, keepdim, dtype, mask, identity)


def _masked(array: Coo, mask: Tensor, identity: Any) -> Coo:
    """The values where a mask is True, zeros where it is and there are none."""
    sparse = array.sparse_dim
    if mask.shape != array.shape:
        mask = mask.to_dense().expand(array.shape)
    if mask.layout is not sparse_coo or mask.sparse_dim() > sparse:
        mask = mask.to_dense().to_sparse(sparse)
    elif mask.sparse_dim() < sparse:
        sparse = mask.sparse_dim()
        array = coalesced(coo(array.indices, array.values, array.shape).to_dense().to_sparse(sparse)._array)
    chosen = coalesced(mask._array)
    here = chosen.values.flatten(1).any(1) if chosen.values.dim() > 1 else chosen.values
    indices, true = chosen.indices[:, here], chosen.values[here]
    values = matched(coalesced(array), places(Coo(indices, true, array.shape)))
    return Coo(indices, values.masked_fill(~true, identity), array.shape, True)


def _reduced(
    name: str, input: Tensor, dims: Sequence[int], keepdim: bool, dtype: dt.dtype, mask: Tensor | None, identity: Any
) -> Tensor:
    array: Coo = input.detach()._array if mask is None else _masked(input.detach()._array, mask, identity)
    sparse, values = array.sparse_dim, array.values.to(dtype)
    shape = [1 if d in dims else n for d, n in enumerate(array.shape) if keepdim or d not in dims]
    dense = [d - sparse + 1 for d in dims if d >= sparse]
    for d in sorted(dense, reverse=True):
        values = getattr(values, name)(d, keepdim)
    kept = [d for d in range(sparse) if d not in dims]
    if not kept:
        return _whole(name, values, identity).reshape(shape).to(dtype).to_sparse()
    ids, which = tensors.unique(array.indices[kept], dim=1, return_inverse=True)
    made = values.new_zeros((ids.shape[1], *values.shape[1:]))
    index = which.reshape((-1,) + (1,) * (values.dim() - 1)).expand(values.shape)
    made = made.scatter_reduce(0, index, values, name, include_self=False)
    indices = ids
    if keepdim:
        indices = array.indices.new_zeros((sparse, ids.shape[1]))
        indices[kept] = ids
    return coo(indices, made, shape)


def _whole(name: str, values: Tensor, identity: Any) -> Tensor:
    """The reduction of all values; of none, what changes no outcome."""
    if not values.shape[0]:
        return values.new_full(values.shape[1:], identity)
    made: Tensor = getattr(values, name)(0)
    return made
