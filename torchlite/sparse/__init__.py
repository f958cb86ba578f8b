"""`torch.sparse`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..absent import lacking
from ..core.machine import Tensor
from ..core.values import missing_kernel_of
from ..operations.formulas import tensors
from . import (
    _composites,
    _conversions,
    _coo,
    _elementwise,
    _kernel_names,
    _likes,
    _making,
    _masks,
    _products,
    _reductions,
    _refusals,
    _shapes,
    _solves,
    _sparse_products,
    _torch_names,
)
from ._diagonals import spdiags
from ._family import is_coo, is_sparse
from ._invariants import check_sparse_tensor_invariants
from ._products import addmm, mm
from ._reductions import log_softmax, softmax, sum
from ._samples import sampled_addmm
from ._types import SPARSE_TYPES
from .semi_structured import *
from .semi_structured import __all__ as _SEMI_STRUCTURED

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
    "spdiags", "spsolve", "sum", *_SEMI_STRUCTURED,
]  # fmt: skip

globals().update(SPARSE_TYPES)


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """`gradcheck` for functions of sparse tensors: it is run on their values, which others are not made of."""

    def check(func: Callable[..., Any], inputs: Any, *, masked: bool = True, **options: Any) -> bool:
        listed = inputs if isinstance(inputs, (tuple, list)) else (inputs,)

        def of_values(*values: Any) -> tuple[Any, ...]:
            made = func(*[_over(t, v, masked) if is_sparse(t) else v for t, v in zip(listed, values, strict=True)])
            many = made if isinstance(made, (tuple, list)) else (made,)
            return tuple([r.to_dense() if is_sparse(r) else r for r in many])

        starts = [_values_of(t, masked) if is_sparse(t) else t for t in listed]
        return gradcheck(of_values, tuple(starts), **options)

    return check


def _values_of(t: Tensor, masked: bool) -> Tensor:
    """What varies of a sparse tensor: its values, or the whole of it."""
    values = t.detach()._array.values.clone() if masked else t.detach().to_dense()
    return values.requires_grad_(t.requires_grad)


def _over(t: Tensor, values: Tensor, masked: bool) -> Tensor:
    """The sparse tensor with other values."""
    array = t._array
    if not masked:
        dense = None if is_coo(t) else array.dense_dim
        return values.to_sparse(array.sparse_dim) if is_coo(t) else values.to_sparse(
            layout=t.layout, blocksize=array.blocksize or None, dense_dim=dense
        )
    if is_coo(t):
        return tensors.sparse_coo_tensor(array.indices, values, t.shape, is_coalesced=array.coalesced)
    return tensors.sparse_compressed_tensor(array.compressed, array.plain, values, t.shape, layout=t.layout)


def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution of a sparse system of equations, for which PyTorch has no kernel on the CPU either."""
    raise missing_kernel_of("_spsolve", input._backend.real)


__getattr__ = lacking(__name__)
