"""Singular values and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import describe, published
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Namespace, return_type
from ..products.matmul import H, into_exactly
from ..shapes.slicing import slice_
from .base import ByColumns, any_matrices, columns, decomposing, differentiated, offered
from .eigen import check_phase


def _check_svd(A: Tensor, full_matrices: bool, compute_uv: bool, driver: str | None) -> None:
    any_matrices("linalg.svd", "linalg_svd_cpu")(A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def _svd(xp: Namespace, a: Array, full_matrices: bool, compute_uv: bool, driver: str | None) -> tuple[Any, ...]:
    name, text = "linalg.svd", "The algorithm failed to converge because the input matrix contained non-finite values."
    if not compute_uv:
        values = decomposing(xp, lambda m: xp.linalg.svd(m, compute_uv=False), a, name, text)
        return xp.empty((0,), a.dtype), values, xp.empty((0,), a.dtype)
    u, s, vh = decomposing(xp, lambda m: xp.linalg.svd(m, full_matrices=full_matrices), a, name, text)
    return columns(xp, u), s, columns(xp, vh)


def _svd_vjp(grads: Sequence[Tensor | None], full_matrices: bool, S: Tensor, U: Tensor, Vh: Tensor) -> Tensor:
    k = S.shape[-1]
    if full_matrices:
        Vh, U = slice_.apply(Vh, -2, 0, k, 1), slice_.apply(U, -1, 0, k, 1)
    g_u, g_s, g_vh = grads
    if g_s is not None and g_u is None and g_vh is None:
        wide = U.shape[-2] < Vh.shape[-1]
        g_s = g_s.to(U.dtype)
        return (U * g_s.unsqueeze(-2)).matmul(Vh) if wide else U.matmul(g_s.unsqueeze(-1) * Vh)
    if full_matrices:
        g_u = None if g_u is None else slice_.apply(g_u, -1, 0, k, 1)
        g_vh = None if g_vh is None else slice_.apply(g_vh, -2, 0, k, 1)
    within_u, within_v = None if g_u is None else H(U).matmul(g_u), None if g_vh is None else Vh.matmul(H(g_vh))
    if U.is_complex():
        within: list[Any] = [w for w in (within_u, within_v) if w is not None]
        check_phase(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined.",
            sum(within[1:], within[0]), *grads,
        )  # fmt: skip
    # The parts of the gradients within the spaces that the singular vectors span ...
    inner = _within(S, within_u, within_v, U.is_complex())
    if U.is_complex() and within_u is not None:
        inner = inner + (1j * within_u.diagonal(0, -2, -1).imag / S).diag_embed()
    inner = inner if g_s is None else inner + g_s.to(U.dtype).diag_embed()
    # ... and those outside of them.
    if g_u is not None and U.shape[-2] > k:
        over = g_u / S.unsqueeze(-2)
        return (U.matmul(inner) + over - U.matmul(H(U).matmul(over))).matmul(Vh)
    if g_vh is not None and Vh.shape[-1] > k:
        over = S.unsqueeze(-1).reciprocal() * g_vh
        return U.matmul(inner.matmul(Vh) + over - over.matmul(H(Vh)).matmul(Vh))
    return U.matmul(inner.matmul(Vh)) if U.shape[-2] >= Vh.shape[-1] else U.matmul(inner).matmul(Vh)


def _within(S: Tensor, within_u: Tensor | None, within_v: Tensor | None, complex_: bool) -> Tensor:
    """What the skew parts of the gradients of either vectors add, over the differences of the values' squares."""
    skew_u, skew_v = [None if within is None else within - H(within) for within in (within_u, within_v)]
    squares = S * S
    turned = squares.unsqueeze(-1)
    gaps = squares.unsqueeze(-2) - turned
    # Nothing is on the diagonal of skew matrices but what complex ones have there, which does not count.
    gaps.diagonal(0, -2, -1).fill_(math.inf if complex_ else 1)
    if skew_u is None:
        return S.unsqueeze(-1) * (skew_v / gaps)
    if skew_v is None:
        sigma = S.unsqueeze(-2)
        return skew_u / gaps * sigma
    of_v = S.unsqueeze(-1) * skew_v
    return (skew_u * S.unsqueeze(-2) + of_v) / gaps


decomposition = ByColumns(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
    "-> (Tensor U, Tensor S, Tensor Vh)",
    _svd, {"A": _svd_vjp}, check=_check_svd, node="LinalgSvdBackward0", batch=LEADING,
)  # fmt: skip
_SVD, _OLD_SVD = return_type("linalg_svd", ("U", "S", "Vh")), return_type("svd", ("U", "S", "V"))


@offered("linalg_svdvals(Tensor A, *, str? driver=None)", into=into_exactly)
def svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """The singular values of a matrix, in descending order."""
    return decomposition.apply(A, False, differentiated(A), driver)[1]


@offered("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None)", into=into_exactly)
def svd(A: Tensor, full_matrices: bool, driver: str | None) -> Any:
    """A unitary matrix, singular values, and another unitary matrix, whose product a matrix is."""
    return _SVD(decomposition.apply(A, full_matrices, True, driver))


@published(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", into=into_exactly
)
def _old_svd(self: Tensor, some: bool, compute_uv: bool) -> Any:
    if self.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {self.dim()} dimensions instead"
        )
    if compute_uv:
        U, S, Vh = decomposition.apply(self, not some, True, None)
        return _OLD_SVD((U, S, H(Vh)))
    (*batch, m, n) = self.shape
    return _OLD_SVD((self.new_zeros((*batch, m, m)), svdvals(self), self.new_zeros((*batch, n, n)).mT))


describe(svd="The singular value decomposition of a matrix: `(U, S, Vh)`, and `V` instead in `torch.svd`.")
