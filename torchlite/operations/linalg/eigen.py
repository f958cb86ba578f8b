"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, describe, fit_gradient
from ...core.machine import LEADING, LEAF, Tensor
from ...core.values import Array, Namespace, dt, return_type
from ..products.matmul import H, into_exactly
from .base import ByColumns, check_kernel, check_square, columns, converging, differentiated, offer, offer_op, offered
from .solve import solving


def differences(values: Tensor) -> Tensor:
    """values[j] - values[i] at (i, j); infinity on the diagonal, where its inverse is wanted to be zero."""
    between = values.unsqueeze(-2) - values.unsqueeze(-1)
    return between + values.new_full((values.shape[-1],), math.inf).diag_embed()


def check_phase(message: str, within: Tensor, *grads: Tensor | None) -> None:
    """Refuse a function of vectors that depends on the phase up to which they are unique.

    A gradient that is a leaf comes from no function: the forward derivative follows from it.
    """
    if not within.is_complex() or within._backend.level or any([g is not None and g._edge is LEAF for g in grads]):
        return
    if not bool((within.diagonal(0, -2, -1).imag.abs() <= 1e-2).all()):
        raise RuntimeError(message)


def _check_vectors(name: str, within: Tensor, g: Tensor) -> None:
    check_phase(
        f"{name}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The "
        "specified loss function depends on this quantity, so it is ill-defined.",
        within, g,
    )  # fmt: skip


# ---- of Hermitian matrices


def _check_eigh(A: Tensor, UPLO: str, _: bool) -> None:
    check_square("linalg.eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", A)


def _eigh(xp: Namespace, a: Array, uplo: str, vectors: bool) -> tuple[Any, Any]:
    def compute(m: Any) -> Any:
        uplo_ = uplo.upper()
        return xp.linalg.eigh(m, UPLO=uplo_) if vectors else (xp.linalg.eigvalsh(m, UPLO=uplo_), None)

    values, made = converging(
        xp, compute, a, "linalg.eigh",
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        "eigenvalues (error code: 2).",
    )  # fmt: skip
    return values, columns(xp, made) if vectors else xp.empty((0,), a.dtype)


def _eigh_vjp(grads: Sequence[Tensor | None], eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    g_values, g_vectors = grads
    V, Vh = eigenvectors, H(eigenvectors)
    if g_vectors is None:
        assert g_values is not None
        return (V * g_values.unsqueeze(-2)).matmul(Vh)
    within = Vh.matmul(g_vectors)
    _check_vectors("linalg_eigh_backward", within, g_vectors)
    inner = (within - H(within)) / 2 / differences(eigenvalues)
    if g_values is not None:
        inner = inner + g_values.to(V.dtype).diag_embed()
    return V.matmul(inner).matmul(Vh)


hermitian = ByColumns(
    '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
    _eigh, {"A": _eigh_vjp}, check=_check_eigh, node="LinalgEighBackward0", batch=LEADING,
)  # fmt: skip
_EIGH = return_type("linalg_eigh", ("eigenvalues", "eigenvectors"))


@offered('linalg_eigvalsh(Tensor self, str UPLO="L")', into=into_exactly)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order."""
    return hermitian.apply(A, UPLO, differentiated(A))[0]


offer(
    'linalg_eigh(Tensor self, str UPLO="L")', lambda self, UPLO: _EIGH(hermitian.apply(self, UPLO, True)),
    into=into_exactly,
)  # fmt: skip

# ---- of any matrices


def _check_eig(name: str, A: Tensor) -> None:
    check_square(f"linalg.{name}", A)
    if not A.dtype.category >= dt.FLOAT:
        raise RuntimeError(f"Unknown Complex ScalarType for {A.dtype.legacy}")
    if A.dtype in dt.HALVES:
        check_kernel("linalg_eig_out_cpu", A)


def _check_finite(xp: Namespace, a: Array) -> None:
    if not xp.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _complex(a: Any) -> Any:
    """`a`, which is real where all eigenvalues are."""
    return a if a.dtype.kind == "c" else a.astype("complex64" if a.dtype.itemsize == 4 else "complex128")


def _eig(xp: Namespace, a: Array) -> tuple[Any, Any]:
    _check_finite(xp, a)
    values, vectors = xp.linalg.eig(a)
    return _complex(values), columns(xp, _complex(vectors))


def _eigvals(xp: Namespace, a: Array) -> Any:
    _check_finite(xp, a)
    return _complex(xp.linalg.eigvals(a))


def _eig_vjp(grads: Sequence[Tensor | None], self_dtype: dt.dtype, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    g_values, V = grads[0], eigenvectors
    inner = V.new_zeros(V.shape)
    if grads[1] is not None:
        within = H(V).matmul(grads[1])
        _check_vectors("linalg_eig_backward", within, grads[1])
        # The vectors have length one, so what would make them longer does not count.
        along = within.diagonal(0, -2, -1).real.to(V.dtype)
        inner = (within - H(V).matmul(V * along.unsqueeze(-2))) / differences(eigenvalues).conj()
    if g_values is not None:
        inner = inner + g_values.diag_embed()
    made = solving.apply(H(V), inner.matmul(H(V)), True, False, None)[0]
    return fit_gradient(made, made._array.shape, self_dtype)


eig = ByColumns(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", _eig, {"self": _eig_vjp},
    check=lambda self: _check_eig("eig", self), batch=LEADING,
)  # fmt: skip
_eigvals_alone = Op("_linalg_eigvals(Tensor self)", _eigvals, batch=LEADING)


@offered("linalg_eigvals(Tensor self)", into=into_exactly)
def eigvals(self: Tensor) -> Tensor:
    """The eigenvalues of a matrix, in no order."""
    if differentiated(self):
        return eig.apply(self)[0]
    _check_eig("eigvals", self)
    return _eigvals_alone.apply(self)


offer_op(eig)


describe(
    linalg_eig="The eigenvalues and eigenvectors of a square matrix, complex: `(eigenvalues, eigenvectors)`.",
    linalg_eigh="The eigenvalues, in ascending order, and eigenvectors of a symmetric or Hermitian matrix.",
)
