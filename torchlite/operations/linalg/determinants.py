"""Determinants and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...core.declare import conj, describe, publish, publish_python, published
from ...core.machine import LEADING, Tensor
from ...core.state import local
from ...core.values import dt
from ..pointwise.selection import where
from ..products.exact import Exact
from ..reductions.reduce import products_of_others
from ..shapes.joining import stack
from .base import offer_op, square
from .lu import factored, solve_factored
from .svd import svd


def _of_inverse(A: Tensor, weight: Tensor, finite: bool = True) -> Tensor:
    """The adjoint of the inverse, times a number for each matrix; to be `finite`, singular ones are a tiny bit off."""
    if not A.array.size:
        return A.new_zeros(A.shape)
    LU, pivots, _ = factored.apply(A, True, None)
    U = LU.diagonal(0, -2, -1)
    if finite:
        tiny = U.new_full((), 2.0**-52 if A.dtype.itemsize // (1 + A.is_complex()) == 8 else 2.0**-23)
        LU = LU + tiny.where(U == 0, tiny.new_zeros(())).diag_embed()
    right = weight.unsqueeze(-1).expand(U.shape).diag_embed()
    return solve_factored.apply(LU, pivots, right, True, True)


def _det_vjp(g: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """By the inverse; where there is none, and the gradient is differentiated again, by singular values."""
    backend = A.backend.real
    if local.state.mode.grad and A.array.size and backend.values and not backend.level:
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
    check=square("linalg.det", "lu_cpu"),
    batch=LEADING,
)
offer_op(det)
publish_python("det(Tensor self)", det.apply)


def _slogdet_vjp(grads: Sequence[Tensor | None], A: Tensor, sign: Tensor) -> Tensor:
    g_sign, g = grads
    weight = sign.new_zeros(sign.shape) if g is None else g
    if g_sign is not None and sign.is_complex():
        weight = weight - 1j * (conj(g_sign) * sign).imag
    if not A.array.size:
        return A * weight[..., None, None]
    return _of_inverse(A, weight.to(A.dtype), finite=False)


_RESULTS = "-> (Tensor sign, Tensor logabsdet)"
slogdet = Exact(
    f"linalg_slogdet(Tensor A) {_RESULTS}", lambda xp, a: tuple(xp.linalg.slogdet(a)), {"A": _slogdet_vjp},
    check=square("linalg.slogdet"), batch=LEADING,
)  # fmt: skip
_old_slogdet = Exact(
    f"slogdet(Tensor self) {_RESULTS}", slogdet.kernel,
    {"self": lambda grads, self, sign: _slogdet_vjp(grads, self, sign)},
    check=slogdet.check, node="LinalgSlogdetBackward0", batch=LEADING,
)  # fmt: skip
offer_op(slogdet)
publish(_old_slogdet)


@published("logdet(Tensor self)")
def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant, which must not be negative."""
    square("logdet")(self)
    sign, logabsdet = slogdet.apply(self)
    if self.is_complex():
        return sign.log() + logabsdet
    return where(sign == -1, math.nan, logabsdet)


describe(
    linalg_det="The determinant of a square matrix, or of each of a batch.",
    linalg_slogdet="The sign and the logarithm of the absolute value of a determinant: `(sign, logabsdet)`.",
    det="The determinant of a square matrix, or of each of a batch.",
    slogdet="The sign and the logarithm of the absolute value of a determinant: `(sign, logabsdet)`.",
)
