"""Approximate singular vectors of big matrices, by a random projection (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from ...core.declare import function
from ...core.machine import Tensor, functions, overridable
from ..products.matmul import H
from .base import linalg
from .qr import qr


def _range(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns that span about what the first `q` singular vectors of `A - M` do."""

    def onto(x: Tensor, adjoint: bool) -> Tensor:
        made = (H(A) if adjoint else A).matmul(x)
        if M is not None:
            made = made - (H(M) if adjoint else M).matmul(x)
        return qr.apply(made, "reduced")[0]

    Q = onto(functions["randn"](A.shape[-1], q, dtype=A.dtype, device=A.device), False)
    for _ in range(niter):
        Q = onto(onto(Q, True), False)
    return Q


@function("svd_lowrank")
@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first `q` singular values and vectors of `A`, or of `A - M`, about."""
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.shape)
    wide = m < n
    if wide:
        A, M = H(A), None if M is None else H(M)
    Q = _range(A, 6 if q is None else q, 2 if niter is None else niter, M)
    inner = H(Q).matmul(A if M is None else A - M)
    U, S, Vh = linalg["svd"](inner, False)
    U, V = Q.matmul(U), H(Vh)
    return (V, S, U) if wide else (U, S, V)


@function("pca_lowrank")
@overridable
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The first `q` principal components of the rows of `A`, about: what `svd_lowrank` gives of the centred ones."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
