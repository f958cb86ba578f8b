"""Systems of equations whose matrix is sparse."""

from __future__ import annotations

from typing import Any

from ..backends.sparse import CompressedBackend
from ..core.machine import Tensor
from ..core.machine.registry import registry
from ..core.values.layout import sparse_bsr, sparse_csc, sparse_csr
from ._family import is_sparse

_TRIANGULAR = registry["_triangular_solve"]


@CompressedBackend.rule("_triangular_solve")
def _triangular_solve(self: Tensor, A: Tensor, *how: bool) -> tuple[Tensor, Tensor]:
    """The solution for a dense right side; no copy of the matrix is given back."""
    if A.layout is sparse_csc:
        raise ValueError("triangular_solve: unsupported sparse layout.")
    if A.layout not in (sparse_csr, sparse_bsr) or is_sparse(self):
        raise (A if is_sparse(A) else self)._backend.real.missing("empty_strided", makes=True)
    solution: Tensor = _TRIANGULAR.apply(self, A.to_dense(), *how)[0]
    return solution, self.new_empty(0)


@CompressedBackend.rule("_linalg_solve")
def _solve(self: Tensor, *more: Any) -> Any:
    """Rows are for another solver, which there is none of on the CPU."""
    by_rows = self.layout is sparse_csr
    t = next(t for t in (self, *more) if is_sparse(t))
    raise t._backend.real.missing("_spsolve" if by_rows else "empty_strided", makes=True)
