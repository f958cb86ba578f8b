"""`spdiags`: a sparse matrix by its diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends.sparse import coo
from ..core.machine import NOT_IMPLEMENTED, Tensor
from ..core.values import dt
from ..core.values.layout import layout, sparse_coo, sparse_csc, sparse_csr
from ..operations.formulas import tensors
from ._coo import at_places
from ._family import OfTensors, unknown


def _check(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], laid: layout | None) -> None:
    if diagonals.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if offsets.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({offsets.shape[0]})"
        )
    if laid not in (None, sparse_coo, sparse_csc, sparse_csr):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {laid!r}")
    if len(set(offsets.tolist())) < offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")


def _places(diagonals: Tensor, offsets: Tensor, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Which elements of the diagonals are in the matrix, and where: an element's column is its own."""
    which, column = tensors.meshgrid(
        tensors.arange(diagonals.shape[0], device=diagonals.device),
        tensors.arange(min(diagonals.shape[1], shape[1]), device=diagonals.device),
        indexing="ij",
    )
    row = column - offsets.to(dt.int64).unsqueeze(1)
    inside = (row >= 0) & (row < shape[0])
    return tensors.stack([which[inside], column[inside]]), tensors.stack([row[inside], column[inside]])


def _spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], laid: layout | None) -> Tensor:
    source, indices = _places(diagonals, offsets, shape)
    made = coo(indices, at_places(diagonals, source), shape)
    return made if laid in (None, sparse_coo) else made.to_sparse(layout=laid)


_spdiags_op = OfTensors(
    "_spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None)", _spdiags,
    {"diagonals": unknown, "offsets": None}, check=_check, node=NOT_IMPLEMENTED,
)  # fmt: skip


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of `diagonals` along the diagonals that `offsets` says."""
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.unsqueeze(0) if not offsets.dim() else offsets
    return _spdiags_op.apply(diagonals, offsets, tuple(shape), layout)
