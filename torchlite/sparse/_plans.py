"""Products of sparse matrices with dense ones as plans compute them: by kernels from arrays to arrays."""

from __future__ import annotations

import functools
from typing import Any

from ..backends.sparse import Compressed, Coo, Sparse
from ..core.machine import PRECISE, Tensor
from ..core.values import Array, Namespace, sparse_csr
from ..kernels import sparse as kernels
from ._family import is_coo


def _of_rows(
    xp: Namespace, mat: Compressed, dense: Array, base: Array | None = None, beta: Any = 0, alpha: Any = 1
) -> Any:
    """Compressed rows times a dense matrix or vector."""
    made = kernels.product_of_rows(xp, mat.compressed._array, mat.plain._array, mat.values._array, dense)
    return _added(made, base, beta, alpha)


def _of_places(xp: Namespace, mat: Coo, dense: Array, base: Array | None = None, beta: Any = 0, alpha: Any = 1) -> Any:
    """The same of coordinates."""
    rows, columns = mat.indices._array
    made = kernels.product(xp, rows, columns, mat.values._array, dense, mat.shape[0], True)
    return _added(made, base, beta, alpha)


def _added(made: Any, base: Any, beta: Any, alpha: Any) -> Any:
    if alpha != 1:
        made *= alpha
    if base is not None and beta != 0:
        made += base if beta == 1 else base * beta
    return made


def _ready(mat: Tensor, dense: Tensor, base: Tensor | None = None, *factors: Any) -> tuple[Any, ...] | None:
    """How products of a form are computed once one was; None where it depends on values what is refused."""
    array, home = mat._array, mat._backend.home
    others = [t for t in (dense, base) if t is not None]
    rows = mat.layout is sparse_csr
    if (
        mat.dtype not in PRECISE or any([t.dtype is not mat.dtype or t._backend is not home for t in others])
        or not (rows or is_coo(mat)) or len(array.shape) != 2 or array.values._array.ndim != 1
        or not dense._array.flags.c_contiguous
    ):  # fmt: skip
        return None
    kernel = functools.partial(_of_rows if rows else _of_places, home.xp)
    return home, kernel, [array, dense._array, None if base is None else base._array, *factors], mat.dtype


def ready_to_add(self: Tensor | None, mat: Tensor, dense: Tensor, *factors: Any) -> Any:
    """The same of products that are added to something."""
    return _ready(mat, dense, self, *factors)


Sparse.ready.update(mm=_ready, mv=_ready, addmm=ready_to_add, addmv=ready_to_add)
