"""Norms of matrices, and how much a matrix magnifies errors."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Composite, describe, publish, published
from ...core.machine import Tensor
from ...core.values import dt, strided, warn_once, wrap_dim
from ..reductions.vector_norms import check_norm_dtype, norm_of_sparse, vector_norm
from .base import check_inexact, check_matrices, check_square, offer_op
from .solve import inverse
from .svd import svdvals

offer_op(vector_norm)


_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def _check_matrix_norm(A: Tensor, ord: Any, dim: Any, dtype: Any) -> tuple[int, int]:
    name = "linalg.matrix_norm"
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {ord:g} not supported.")
    check_matrices(name, A)
    check_inexact(name, A, low=True)
    if ord not in _ORDERS:
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = wrap_dim(dim[0], A.dim()), wrap_dim(dim[1], A.dim())
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if A.dtype in dt.WIDE and ord in (2, -2, "nuc"):
        check_inexact(name, A)
    if dtype is not None:
        check_norm_dtype(name, A, dtype)
    return rows, columns


def matrix_norm(self: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """A norm of the matrices that two dimensions make."""
    rows, columns = _check_matrix_norm(self, ord, dim, dtype)
    if ord == "fro":
        return vector_norm.apply(self, 2, (rows, columns), keepdim, dtype)
    if dtype is not None:
        self = self.to(dtype)
    if ord in (2, -2, "nuc"):
        values = svdvals(self.movedim((rows, columns), (-2, -1)))
        made = values.sum(-1) if ord == "nuc" else _extreme(values, -1, ord)
        return made.unsqueeze(-1).unsqueeze(-1).movedim((-2, -1), (rows, columns)) if keepdim else made
    summed, left = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm.apply(self, 1.0, summed, keepdim, None)
    return _extreme(sums, left - (summed < left and not keepdim), ord, keepdim)


def _extreme(t: Tensor, dim: int, ord: float, keepdim: bool = False) -> Tensor:
    """The largest along `dim`, or the smallest for a negative order; the largest of nothing is 0."""
    if not t.shape[dim] and ord > 0:
        return t.sum(dim, keepdim)
    return t.amax(dim, keepdim) if ord > 0 else t.amin(dim, keepdim)


def norm(self: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The norm of a vector, or of a matrix where there are two dimensions and an order is given."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is not None and dim is None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    both = len(dim) == 2 if dim is not None else self.dim() == 2
    if isinstance(ord, str) or (ord is not None and both):
        return matrix_norm(self, ord, (0, 1) if dim is None and self.dim() == 2 else dim or (-2, -1), keepdim, dtype)
    return vector_norm.apply(self, 2.0 if ord is None else ord, dim, keepdim, dtype)


for _name, _f, _forms in (
    ("matrix_norm", matrix_norm, ("Scalar ord, int[] dim=[-2, -1]", 'str ord="fro", int[] dim=[-2, -1]')),
    ("norm", norm, ("Scalar? ord=None, int[1]? dim=None", "str ord, int[1]? dim=None")),
):
    offer_op(*[
        Composite(f"linalg_{_name}(Tensor self, {form}, bool keepdim=False, *, ScalarType? dtype=None)", _f)
        for form in _forms
    ])  # fmt: skip


# ---- under their older names


def _plain_norm(input: Tensor, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """The op that a norm of a plain order comes to."""
    if isinstance(p, str) and p != "fro":
        return None
    order = 2 if p is None or p == "fro" else p
    op = vector_norm if input._backend.layout is strided else norm_of_sparse
    return op, op.bind((input, order, dim, keepdim), {"dtype": dtype})


@published(
    "norm(Tensor self, any? p='fro', int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None)",
    comes_to=_plain_norm,
)
def older_norm(input: Tensor, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The norm of the elements, over all of them or along `dim`: of order `p`, "fro" or "nuc"."""
    if p == "nuc" or (p == "fro" and dim is not None and len(dim) > 2):
        return matrix_norm(input, p, tuple(range(input.dim())) if dim is None else dim, keepdim, dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    op, values = _plain_norm(input, p, dim, keepdim, dtype)
    return op.apply(*values)


def _warn_of_age(name: str, newer: str) -> None:
    warn_once(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch "
        f"release. Please use `linalg.{newer}, dim, keepdim)` instead"
    )


@published("frobenius_norm(Tensor self, int[1] dim, bool keepdim=False)", method=False)
def frobenius_norm(self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The norm of matrices, as of vectors."""
    _warn_of_age("frobenius_norm", "vector_norm(A, 2.")
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return vector_norm.apply(self, 2.0, dim, keepdim, None)


def _nuclear_norm(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    _warn_of_age("nuclear_norm", "matrix_norm(A, 'nuc'")
    return matrix_norm(input, "nuc", dim, keepdim, None)


publish(
    Composite(
        "nuclear_norm(Tensor self, bool keepdim=False)",
        lambda self, keepdim: _nuclear_norm(self, (-2, -1), keepdim),
    ),
    Composite("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False)", _nuclear_norm),
    method=False,
)


# ---- the condition number


def _of_all(t: Tensor, p: Any) -> Tensor:
    return matrix_norm(t, p, (-2, -1), False, None)


def cond(self: Tensor, p: Any) -> Tensor:
    """The norm of a matrix times that of its inverse."""
    if self.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, complex) or (p is not None and p not in _ORDERS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p not in (None, 2, -2):
        check_square(f"linalg.cond(ord={p})", self)
    if not self.numel():
        return self.new_zeros(self.shape[:-2], dtype=self.dtype.to_real())
    if p in (None, 2, -2):
        values = svdvals(self)
        first, last = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
        return (last / first if p == -2 else first / last).squeeze(-1)
    if p == "nuc":
        values = svdvals(self)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverted, info = inverse.apply(self, None)
    inverted = inverted.masked_fill((info > 0)[..., None, None], math.inf)
    return (_of_all(self, p) * _of_all(inverted, p)).nan_to_num(math.inf, math.inf, -math.inf)


offer_op(
    Composite("linalg_cond(Tensor self, Scalar? p=None)", cond), Composite("linalg_cond(Tensor self, str p)", cond)
)


describe(
    linalg_cond="The condition number of a matrix: how much it may magnify errors.",
    linalg_matrix_norm="The norm of a matrix along two dimensions: 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2.",
    linalg_norm="""The norm of a vector, or of a matrix: along one dimension or two, or of all elements.

    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """,
    linalg_vector_norm="The norm of vectors: of all elements, or along dimensions.",
    nuclear_norm="The sum of the singular values of a matrix, or of the matrices that two dimensions make.",
    norm="The norm of a matrix or a vector, of all elements or along dimensions.",
)
