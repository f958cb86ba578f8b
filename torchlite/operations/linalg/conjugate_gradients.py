"""A few eigenvalues of a big symmetric matrix, by Knyazev's locally optimal preconditioned conjugate gradients."""

from __future__ import annotations

from typing import Any

from ...core.declare import function
from ...core.machine import Tensor, functions, overridable
from ...core.values import dt
from ..products.matmul import H
from .base import differentiated
from .cholesky import cholesky
from .eigen import hermitian
from .qr import qr
from .triangular import triangular


def _reduced(A: Tensor, B: Tensor | None, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """The first `k` eigenvalues, and vectors, of AX = BXE, by a factorisation of both."""
    if B is not None:
        L = cholesky(B)
        A = triangular.apply(H(L), triangular.apply(L, A, False, True, False), True, False, False)
    values, vectors = hermitian.apply((A + H(A)) / 2, "L", True)
    chosen = slice(-k, None) if largest else slice(None, k)
    values, vectors = values[..., chosen], vectors[..., chosen]
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values, vectors if B is None else triangular.apply(H(L), vectors, True, True, False)


def _iterate(
    A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int, niter: int, tol: float, largest: bool
) -> tuple[Tensor, Tensor]:
    def applied(M: Tensor | None, x: Tensor) -> Tensor:
        return x if M is None else M.matmul(x)

    def best(basis: Tensor) -> tuple[Tensor, Tensor]:
        """The Ritz values and vectors in the space that a basis spans."""
        Q = qr.apply(basis, "reduced")[0]
        inside: list[Any] = [None if M is None else H(Q).matmul(M).matmul(Q) for M in (A, B)]
        values, inner = _reduced(*inside, count, largest)  # type: ignore[call-arg]
        return values, Q.matmul(inner)

    count = X.shape[-1]
    scale = A.norm()
    E, X = best(X)
    step = None
    done = 0
    while niter < 0 or done < niter:
        residual = A.matmul(X) - applied(B, X) * E.unsqueeze(-2)
        errors = residual.norm(dim=-2) / (X.norm(dim=-2) * (scale + E.abs()))
        if bool((errors[:k] <= tol).all()):
            break
        parts = [X, applied(iK, residual)] if step is None else [X, applied(iK, residual), step]
        E, new = best(functions["cat"](parts, -1))
        step = new - X.matmul(H(X).matmul(applied(B, new)))
        X, done = new, done + 1
    return E[:k], X[:, :k]


@function("lobpcg")
@overridable
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: None = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The `k` largest, or smallest, eigenvalues of a positive-definite matrix, and their vectors.

    Where a gradient may be asked for, they come from a full factorisation.
    """
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg: a tracker of the iterations is not supported")
    rows = A.shape[-1]
    if X is not None and X.shape != (wanted := (*A.shape[:-1], X.shape[-1])):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {wanted}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if rows < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    largest = largest is None or bool(largest)
    if differentiated(A) or (B is not None and differentiated(B)):
        return _reduced(A, B, k, largest)
    tol = dt.finfo(A.dtype).eps ** 0.5 if tol is None else tol
    niter = 1000 if niter is None else niter
    if X is None:
        d = A.dtype if A.is_floating_point() else None
        X = functions["randn"]((*A.shape[:-2], rows, n), dtype=d, device=A.device)
    if A.dim() == 2:
        return _iterate(A, B, X, iK, k, niter, tol, largest)
    batch = A.shape[:-2]
    flat: list[Any] = [None if t is None else t.reshape((-1, *t.shape[-2:])) for t in (A, B, X, iK)]
    found = []
    for i in range(len(flat[0])):
        one: list[Any] = [None if t is None else t[i] for t in flat]
        found.append(_iterate(*one, k, niter, tol, largest))  # type: ignore[call-arg]
    E, V = [functions["stack"](parts) for parts in zip(*found, strict=True)]
    return E.reshape((*batch, k)), V.reshape((*batch, rows, k))
