"""Orthogonal factorisations of matrices and batches of them: QR, eigenvalues, singular values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..core.batching import LEADING
from ..core.op import Op, functions
from ..core.publish import publish
from .linalg import check_inexact, check_matrices, columns, offer, offer_op, square, triangular
from .matmul import H

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.tensor import Tensor


def any_matrices(name: str) -> Callable[..., None]:
    def check(t: Tensor, *_: Any) -> None:
        check_matrices(name, t)
        check_inexact(name, t)

    return check


# ---- orthogonal times triangular


def _check_qr(A: Tensor, mode: str) -> None:
    any_matrices("linalg.qr")(A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )


def _qr(xp: Any, a: Any, mode: str) -> Any:
    if mode == "r":
        return xp.empty((0,), a.dtype), columns(xp, xp.linalg.qr(a, mode="r"))
    q, r = xp.linalg.qr(a, mode=mode)
    return columns(xp, q), columns(xp, r)


def _qr_vjp(grads: Sequence[Tensor | None], A: Tensor, mode: str, Q: Tensor, R: Tensor) -> Tensor:
    (m, n), (g_q, g_r) = A.array.shape[-2:], grads
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols, so gradients cannot "
            "be computed. Please use mode='reduced' instead."
        )
    g_q = Q.new_zeros(Q.shape) if g_q is None else g_q
    g_r = R.new_zeros(R.shape) if g_r is None else g_r
    if m >= n:
        return _qr_vjp_tall(g_q, g_r, Q, R)
    # A = [X Y] and R = [U V]: X = QU is a factorisation of a square matrix, and V = QᴴY.
    g_v = g_r[..., m:]
    g_x = _qr_vjp_tall(g_q + A[..., m:].matmul(H(g_v)), g_r[..., :m], Q, R[..., :m])
    return functions["cat"]((g_x, Q.matmul(g_v)), -1)


def _qr_vjp_tall(g_q: Tensor, g_r: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    skew = (g_r.matmul(H(R)) - H(Q).matmul(g_q)).triu()
    diagonal = skew.diagonal(0, -2, -1)
    symmetric = skew + H(skew) - (diagonal.real if skew.is_complex() else diagonal).diag_embed()
    return triangular.apply(H(R), g_q + Q.matmul(symmetric), False, False, False)


qr = Op(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', _qr, {"A": _qr_vjp}, check=_check_qr,
    batch=LEADING,
)  # fmt: skip
offer_op(qr)
_old_qr = Op(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    lambda xp, a, some: _qr(xp, a, "reduced" if some else "complete"),
    {
        "self": lambda grads, self, some, Q, R: _qr_vjp(grads, self, "reduced" if some else "complete", Q, R),
    },
    check=any_matrices("linalg.qr"), node="LinalgQrBackward0", batch=LEADING,
)  # fmt: skip
publish(_old_qr)


# ---- eigenvalues and singular values


def _check_eigh(self: Tensor, UPLO: str) -> None:
    square("linalg.eigh")(self)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


def _eigh(xp: Any, a: Any, uplo: str) -> Any:
    values, vectors = xp.linalg.eigh(a, UPLO=uplo.upper())
    return values, columns(xp, vectors)


def _differences(values: Tensor) -> Tensor:
    """values[j] - values[i] at (i, j); infinity on the diagonal, where its inverse is wanted to be zero."""
    between = values.unsqueeze(-2) - values.unsqueeze(-1)
    return between + values.new_full((values.shape[-1],), math.inf).diag_embed()


def _eigh_vjp(grads: Sequence[Tensor | None], eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    g_values, g_vectors = grads
    V = eigenvectors
    inner = V.new_zeros(V.shape)
    if g_vectors is not None:
        inner = inner + H(V).matmul(g_vectors) / _differences(eigenvalues)
    if g_values is not None:
        inner = inner + g_values.to(V.dtype).diag_embed()
    return V.matmul(inner).matmul(H(V))


eigh = Op(
    'linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)', _eigh, {"self": _eigh_vjp},
    check=_check_eigh, batch=LEADING,
)  # fmt: skip
offer_op(eigh)
offer('linalg_eigvalsh(Tensor self, str UPLO="L")', lambda self, UPLO: eigh.apply(self, UPLO)[0])


def _check_svd(A: Tensor, full_matrices: bool, driver: str | None) -> None:
    any_matrices("linalg.svd")(A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def _svd(xp: Any, a: Any, full_matrices: bool, driver: str | None) -> Any:
    u, s, vh = xp.linalg.svd(a, full_matrices=full_matrices)
    return columns(xp, u), s, columns(xp, vh)


def _svd_vjp(grads: Sequence[Tensor | None], U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    k = S.shape[-1]
    U, V = U[..., :k], H(Vh[..., :k, :])
    g_u, g_s, g_vh = grads
    inner = U.new_zeros((*S.shape, k)) if g_s is None else g_s.to(U.dtype).diag_embed()
    sigma = S.unsqueeze(-2)
    # With E = sⱼ² - sᵢ²: the parts of the gradients within the spaces that the singular vectors span ...
    gaps = _differences(S * S)
    outside = None
    if g_u is not None:
        g_u = g_u[..., :k]
        within = H(U).matmul(g_u)
        inner = inner + (within - H(within)) / gaps * sigma
        outside = (g_u - U.matmul(within)) / sigma
        outside = outside.matmul(H(V))
    if g_vh is not None:
        g_v = H(g_vh[..., :k, :])
        within = H(V).matmul(g_v)
        inner = inner + S.unsqueeze(-1) * ((within - H(within)) / gaps)
        across = U.matmul(H((g_v - V.matmul(within)) / sigma))  # ... and those outside of them.
        outside = across if outside is None else outside + across
    if g_u is not None and U.is_complex():
        phase = H(U).matmul(g_u).diagonal(0, -2, -1).imag
        inner = inner + (1j * phase / S).diag_embed()
    made = U.matmul(inner).matmul(H(V))
    return made if outside is None else made + outside


svd = Op(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", _svd,
    {"A": _svd_vjp}, check=_check_svd, batch=LEADING,
)  # fmt: skip
offer_op(svd)
offer("linalg_svdvals(Tensor A, *, str? driver=None)", lambda A, driver: svd.apply(A, False, driver)[1])
