"""Determinants and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import conj, describe, publish, publish_python, published
from ...core.machine import LEADING, Tensor, functions
from ...core.state import local
from ...core.values import Array, Namespace, dt, strided
from ..pointwise.selection import where
from ..products.exact import Exact
from ..reductions.reduce import products_of_others
from ..shapes.joining import stack
from .base import offer_op, square
from .lu import eliminate, factored, solve_factored
from .svd import svd


def _of_inverse(A: Tensor, weight: Tensor, finite: bool = True) -> Tensor:
    """The adjoint of the inverse, times a number for each matrix; to be `finite`, singular ones are a tiny bit off."""
    if not A._array.size:
        return A.new_zeros(A.shape)
    LU, pivots, _ = factored.apply(A, True, None)
    return _of_factors(A, LU, pivots, weight, finite)


def _of_factors(A: Tensor, LU: Tensor, pivots: Tensor, weight: Tensor, finite: bool, turned: bool = False) -> Tensor:
    """The same by factors of A, or of its transpose."""
    right = weight.unsqueeze(-1).expand(A.shape[:-1]).diag_embed()
    right = right.mT if turned else right
    if finite:
        zeros = LU.diagonal(0, -2, -1) == 0.0
        none, tiny = [
            functions["scalar_tensor"](number, dtype=A.dtype, layout=strided, device=A.device)
            for number in (0.0, dt.finfo(A.dtype).eps)
        ]
        LU = LU + tiny.where(zeros, none).diag_embed()
    return solve_factored.apply(LU, pivots, right, True, not turned)


def _turns(A: Any) -> bool:
    """Whether PyTorch factors the transpose, which lies as LAPACK wants it."""
    return A.is_contiguous() and not A.is_complex()


def _factors(xp: Namespace, a: Array) -> tuple[Any, Any]:
    turned = a.flags.c_contiguous and a.dtype.kind != "c"
    return eliminate(xp, a.swapaxes(-1, -2) if turned else a)[:2]


def _det_vjp(g: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """By the inverse; where there is none, and the gradient is differentiated again, by singular values."""
    backend = A._backend.real
    if local.state.mode.grad and A._array.size and backend.values and not backend.level:
        singular = result.detach().abs() < 100 * dt.finfo(A.dtype).eps
        if singular.any():
            parts = zip(g.reshape(-1), A.reshape((-1, *A.shape[-2:])), result.reshape(-1), strict=True)
            flags = singular.reshape(-1).tolist()
            found = [_of_singular(one[1], one[0]) if flag else _det_vjp(*one) for one, flag in zip(parts, flags)]
            return stack.apply(found, 0).reshape(A.shape)
    return _of_inverse(A, g * conj(result))


def _of_singular(A: Tensor, g: Tensor) -> Tensor:
    U, S, Vh = svd(A, True, None)
    return (U * (g * conj(det.apply(U) * det.apply(Vh)) * products_of_others(S, 0))) @ Vh


det = Exact(
    "linalg_det(Tensor A)",
    lambda xp, a: xp.linalg.det(a),
    {"A": _det_vjp},
    check=square("linalg.det", "lu_cpu"), batch=LEADING, made_of=lambda A: lambda: _factored_det.apply(A)[0],
)  # fmt: skip
_factored_det: Exact = Exact(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    lambda xp, a: (xp.linalg.det(a), *_factors(xp, a)),
    {"A": lambda g, A, result, LU, pivots: _of_factors(A, LU, pivots, g * conj(result), True, _turns(A))},
    check=det.check, differentiable=1, node="LinalgDetBackward0", batch=LEADING,
)  # fmt: skip
offer_op(det)
publish(_factored_det, method=False)
publish_python("det(Tensor self)", det.apply)


def _slogdet_vjp(grads: Sequence[Tensor | None], A: Tensor, sign: Tensor) -> Tensor:
    weight = _weight(grads, A, sign)
    return _of_inverse(A, weight, finite=False) if A._array.size else A * weight[..., None, None]


def _weight(grads: Sequence[Tensor | None], A: Tensor, sign: Tensor) -> Tensor:
    g_sign, g = grads[:2]
    weight = sign.new_zeros(sign.shape) if g is None else g
    if g_sign is not None and sign.is_complex():
        weight = weight - 1j * (conj(g_sign) * sign).imag
    return weight.to(A.dtype)


_RESULTS = "-> (Tensor sign, Tensor logabsdet)"
slogdet = Exact(
    f"linalg_slogdet(Tensor A) {_RESULTS}", lambda xp, a: tuple(xp.linalg.slogdet(a)), {"A": _slogdet_vjp},
    check=square("linalg.slogdet"), batch=LEADING,
    made_of=lambda A: lambda: _factored_slogdet.apply(A)[:2],
)  # fmt: skip
_factored_slogdet: Exact = Exact(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    lambda xp, a: (*xp.linalg.slogdet(a), *_factors(xp, a)),
    {"A": lambda grads, A, sign, LU, pivots: _of_factors(
        A, LU, pivots, _weight(grads, A, sign), False, _turns(A)
    )},
    check=slogdet.check, differentiable=2, node="LinalgSlogdetBackward0", batch=LEADING,
)  # fmt: skip
_old_slogdet = Exact(
    f"slogdet(Tensor self) {_RESULTS}", slogdet.kernel,
    {"self": lambda grads, self, sign: _slogdet_vjp(grads, self, sign)},
    check=slogdet.check, node="LinalgSlogdetBackward0", batch=LEADING,
)  # fmt: skip
offer_op(slogdet)
publish(_old_slogdet)
publish(_factored_slogdet, method=False)


@published("logdet(Tensor self)")
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant, which must not be negative."""
    square("logdet")(self)
    sign, logabsdet = slogdet.apply(self)
    if self.is_complex():
        return sign.log() + logabsdet
    return where(sign == -1.0, math.nan, logabsdet)


describe(
    linalg_det="The determinant of a square matrix, or of each of a batch.",
    linalg_slogdet="The sign and the logarithm of the absolute value of a determinant: `(sign, logabsdet)`.",
    det="The determinant of a square matrix, or of each of a batch.",
    slogdet="The sign and the logarithm of the absolute value of a determinant: `(sign, logabsdet)`.",
)
