"""Products of vectors and matrices, and views of matrices, under the names of `torch.linalg`."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.declare import describe
from ...core.machine import Tensor, functions
from ...core.values import dt
from ..products.einsum import chain, matrix_power
from ..products.geometry import linalg_cross
from ..products.matmul import into_exactly
from .base import check_inexact, offer, offer_op, offered

offer_op(linalg_cross)
offer("linalg_matrix_power(Tensor self, int n)", matrix_power, into=into_exactly)
offer("linalg_matmul(Tensor self, Tensor other)", lambda self, other: functions["matmul"](self, other))
offer(
    "linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)",
    lambda A, offset, dim1, dim2: A.diagonal(offset, dim1, dim2),
)


@offered("linalg_multi_dot(Tensor[] tensors)", into=into_exactly)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, bracketed so that it costs least; the first and the last may be vectors."""
    items = list(tensors)
    if len(items) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(items)}")
    first, last = items[0], items[-1]
    for called, t in (("first", first), ("last", last)):
        if t.dim() not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {called} tensor must be 1D or 2D but got {t.dim()}D")
    for i, t in enumerate(items):
        if 0 < i < len(items) - 1 and t.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.dim()}D")
        if t.dtype is not first.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {first.dtype.cname} and tensor "
                f"{i} {t.dtype.cname}"
            )
    shape = (*first.shape[:-1], *last.shape[1:])
    items[0] = first.unsqueeze(0) if first.dim() == 1 else first
    items[-1] = last.unsqueeze(-1) if last.dim() == 1 else last
    return chain(items).view(shape)


@offered("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)", into=into_exactly)
def vecdot(x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The inner products of the vectors along a dimension, of which those of `x` are conjugated."""
    check_inexact("linalg.vecdot", x, low=True)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.legacy} and y of "
            f"type {y.dtype.legacy} instead"
        )
    if x.dim() == 1 and y.dim() == 1:
        return x.vdot(y)
    return (x.conj() * y).sum(dim)


@offered("linalg_vander(Tensor x, *, int? N=None)")
def vander(x: Tensor, N: int | None) -> Tensor:
    """The powers, from the zeroth on, of each element."""
    if x.dtype.category == dt.BOOL or x.dtype in dt.WIDE:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.legacy}"
        )
    x = x.unsqueeze(0) if not x.dim() else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)
    return functions["cat"]((powers.new_ones((*x.shape, 1)), powers), -1)


describe(
    linalg_cross="The cross product of vectors of three elements.",
    linalg_diagonal="A view of a diagonal of matrices, which becomes the last dimension.",
    linalg_matmul="The product of matrices: `torch.matmul`.",
)
