"""The mask of an input in full, and that of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor
from ..core.values import sparse_coo, sparse_csr, strided
from ._ops import _dims, _fitting

_REDUCTIONS = frozenset(
    ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp")
)
_NORMALIZATIONS = frozenset(("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"))
_OF_ORDERS = frozenset(("norm", "normalize"))  # whose argument before `dim` is the order of the norm


def _input_mask(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The mask that a masked operation was given, as bools of the input's shape and layout."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    full = _fitting(mask if mask.layout is strided else mask.to_dense(), input)
    if input.layout is sparse_coo:
        return full.to_sparse()
    return full.to_sparse_csr() if input.layout is sparse_csr else full


def _output_mask(op: Callable[..., Any], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The mask of what a masked operation gives: where one element that went into a result was let through."""
    name = getattr(op, "__name__", None)
    if name in _NORMALIZATIONS:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    mask = _input_mask(input, *args, **kwargs)
    at = int(name in _OF_ORDERS)
    dim = args[at] if len(args) > at else kwargs.get("dim")
    return mask.any(_dims(dim, input), bool(kwargs.get("keepdim", False)))
