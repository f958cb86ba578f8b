"""Products of sparse matrices with dense ones that stay sparse."""

from __future__ import annotations

from typing import Any

from ..backends.sparse import coo
from ..core.declare import describe, publish, publish_python
from ..core.machine import NOT_IMPLEMENTED, Tensor, functions
from ..core.values import missing_kernel_of, sparse_coo
from ..operations.formulas import tensors
from ._family import OfTensors, check_kernel, is_compressed, is_coo, is_sparse, unknown
from ._products import by_rows, check_product, places_of, product


def _full_rows(mat1: Tensor, mat2: Tensor, kernel: str) -> tuple[Tensor, Tensor]:
    """The rows that a sparse matrix has values in, and what its product with a dense one is there."""
    check_kernel(kernel, mat1.dtype)
    rows, columns, values = places_of(mat1)
    there, which = rows.unique(return_inverse=True)
    places = which._array, columns._array, values._array
    return there, product(places, by_rows(mat2), there.shape[0], mat1._backend.home, True)


def _hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    if not is_coo(mat1):
        raise missing_kernel_of("hspmm", mat1._backend.real)
    check_product(mat1, mat2, "hspmm")
    there, made = _full_rows(mat1, mat2, "addmm_sparse_dense")
    return coo(there.unsqueeze(0), made, (mat1.shape[0], mat2.shape[1]))


def _sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    if is_compressed(mat1):
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [0]"
        )
    if not is_coo(mat1):
        raise RuntimeError("sspaddmm: Argument #2: Expected a sparse tensor")
    check_product(mat1, mat2, "sspaddmm")
    width = mat2.shape[1]
    for dim, size in enumerate((mat1.shape[0], width)):
        if self.shape[dim] != size:
            raise RuntimeError(f"sspaddmm: Argument #1: Expected dim {dim} size {size}, got {self.shape[dim]}")
    there, made = _full_rows(mat1, mat2, "sspmm")
    rows = there.repeat_interleave(width)
    columns = tensors.arange(width, device=rows.device).repeat(there.shape[0])
    indices = tensors.cat([self._array.indices, tensors.stack([rows, columns])], 1)
    values = tensors.cat([self._array.values * beta, made.flatten() * alpha])
    return coo(indices, values, (mat1.shape[0], width))


hspmm = OfTensors(
    "hspmm(Tensor mat1, Tensor mat2)", _hspmm, {"mat1": unknown, "mat2": unknown}, node=NOT_IMPLEMENTED
)  # fmt: skip
publish(hspmm, method=False)
sspaddmm = OfTensors(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", _sspaddmm,
    {"self": unknown, "mat1": unknown, "mat2": unknown}, node=NOT_IMPLEMENTED,
)  # fmt: skip
publish(sspaddmm)
describe(
    hspmm="The product of a sparse matrix and a dense one, sparse in its rows.",
    sspaddmm="`beta * input + alpha * (mat1 @ mat2)`, sparse as `input` and `mat1` are.",
)


def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse one."""
    if not is_sparse(self):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    base = tensors.zeros((self.shape[0], mat2.shape[-1]), dtype=mat2.dtype, device=mat2.device, layout=sparse_coo)
    return sspaddmm.apply(base, self, mat2, 1, 1)


publish_python("smm(Tensor self, Tensor mat2)", smm)
for _name, _known in (("spmm", "mm"), ("dsmm", "mm"), ("hsmm", "hspmm"), ("saddmm", "sspaddmm")):
    functions.setdefault(_name, functions[_known])
