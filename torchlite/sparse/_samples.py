"""`sampled_addmm`: products of dense matrices, computed where a sparse matrix has values."""

from __future__ import annotations

from typing import Any

from ..backends.sparse import layout_name, like
from ..core.machine import Tensor
from ..core.values import dt, missing_kernel_of
from ..core.values.layout import sparse_csr
from ..operations.products.matmul import H
from ..operations.vocabulary import INEXACT, scaled
from ._family import OfTensors, is_compressed, is_sparse
from ._products import sampled


def _sampled_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    values = sampled(mat1, mat2, self) if self.dim() == 2 else (mat1 @ mat2).sparse_mask(self).values()
    return like(self, self._array.with_values(self._array.values * beta + values * alpha))


def _check_sizes(self: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {t.dim()}-D tensor")
    (rows, inner), (height, columns) = mat1.shape[-2:], mat2.shape[-2:]
    if inner != height:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {height}x{columns})"
        )
    for at, name, size in ((-2, "mat1", rows), (-1, "mat2", columns)):
        if self.shape[at] != size:
            raise RuntimeError(f"sampled_addmm: self.shape[{at}] must match {name}.shape[{at}]")


def _check_sampled(self: Tensor, mat1: Tensor, mat2: Tensor, *_: Any) -> None:
    if is_compressed(self) and self._array.blocked:
        raise self._backend.real.missing("sparse_sampled_addmm.out", makes=True)
    if not is_compressed(self):
        raise missing_kernel_of("sparse_sampled_addmm", self._backend.real)
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(t):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {layout_name(t)}")
    if self.layout is not sparse_csr:
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {layout_name(self)}")
    for name, t in (("mat2", mat2), ("self", self)):
        if t.dtype is not mat1.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected mat1 and {name} to have the same dtype, but got {mat1.dtype.legacy} and "
                f"{t.dtype.legacy}"
            )
    _check_sizes(self, mat1, mat2)
    if self.dtype not in INEXACT - dt.WIDE.keys():
        kinds = "a floating-point or complex tensor"
        raise RuntimeError(f"sparse_sampled_addmm: Expected self to be {kinds}, but got {self.dtype.legacy}")


sampled_addmm_op = OfTensors(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", _sampled_addmm,
    {
        "self": lambda g, beta: scaled(g, beta),
        "mat1": lambda g, self, mat2, alpha: scaled(g.sparse_mask(self).mm(H(mat2)), alpha),
        "mat2": lambda g, self, mat1, alpha: scaled(H(mat1).mm(g.sparse_mask(self)), alpha),
    },
    check=_check_sampled,
)  # fmt: skip


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """A product of dense matrices, computed where a sparse matrix has values, and added to these."""
    made = sampled_addmm_op.apply(input, mat1, mat2, beta, alpha)
    return made if out is None else out.copy_(made)
