"""Sparse tensors like others: `torch.zeros_like` and its kin."""

from __future__ import annotations

from typing import Any

from ..backends.sparse import NAMES, layout_name, like, sparse_backend
from ..core.machine import Tensor
from ..core.values import Backend, missing_kernel_of, preserve_format
from ..core.values.layout import COMPRESSED, layout, sparse_bsc, sparse_bsr, sparse_coo, strided
from ..operations.formulas import tensors
from ._coo import nothing
from ._family import is_compressed, is_coo, is_sparse
from ._making import empty, in_layout, without_values

_FORMAT = "memory format option is only supported by strided tensors"


def _refuse_layout(laid: layout, t: Tensor) -> None:
    raise RuntimeError(
        f"empty_like with different sparse layout is not supported (self is {layout_name(t)} but you requested "
        f"{NAMES.get(laid, 'Strided')})"
    )


@in_layout("zeros_like")
def _nothing_like(laid: layout, t: Tensor, format_: Any, d: Any, backend: Backend) -> Tensor:
    """A tensor of zeros: of coordinates, without values; of a compressed layout, with zeros where `t` has values."""
    if laid is strided:
        _refuse_layout(laid, t)
    if laid is sparse_coo and format_ is not None:
        raise RuntimeError(_FORMAT)
    values = tensors.empty(0, dtype=d, device=backend.device)
    if laid is sparse_coo and is_sparse(t):
        return nothing(t.shape, t._array.sparse_dim if is_coo(t) else len(t._array.batch) + 2, values)
    block = t._array.blocksize if is_compressed(t) else ()
    if bool(block) is not (laid in (sparse_bsr, sparse_bsc)) and laid is not sparse_coo:
        said = f"cannot be specified for non-block layout {NAMES[laid]}"
        said = said if block else "needs to be a tuple of size 2, but got 0"
        raise RuntimeError(f"sparse_compressed_tensor_with_dims: blocksize {said}")
    if not is_compressed(t):
        return empty(laid, t.shape, d, backend)
    return without_values(laid, t.shape, len(t._array.batch), block, t._array.compressed.dtype, values)


def _check(laid: layout, t: Tensor, format_: Any, backend: Backend) -> None:
    """Refuse what `empty_like` does, which the others begin with."""
    if t.layout in COMPRESSED:
        if laid is not t.layout:
            _refuse_layout(laid, t)
        if format_ is preserve_format:
            raise RuntimeError("unsupported memory format Preserve")
    elif format_ is not None:
        raise RuntimeError(_FORMAT)
    elif t.layout is strided:
        raise missing_kernel_of("empty_strided", sparse_backend(backend, laid))


# Kernels without which there are no such tensors.
_MISSING = {"rand_like": "uniform_", "randint_like": "random_.from", "randn_like": "normal_"}


def _like(name: str) -> Any:
    """Compressed tensors of other values at the same places."""

    def make(laid: layout, t: Tensor, *more: Any) -> Tensor:
        *numbers, format_, d, backend = more
        _check(laid, t, format_, backend)
        if name != "empty_like" and (laid is sparse_coo or name in ("rand_like", "randint_like")):
            raise missing_kernel_of(_MISSING.get(name, "fill_.Scalar"), sparse_backend(backend, laid))
        if not is_compressed(t):
            return _nothing_like(laid, t, None, d, backend)
        made = getattr(tensors, name)(t._array.values, *numbers, dtype=d)
        return like(t, t._array.over(*[part.clone() for part in t._array.parts()[:-1]], made))

    return make


for _name in ("empty_like", "ones_like", "full_like", "rand_like", "randint_like", "randn_like"):
    in_layout(_name)(_like(_name))
