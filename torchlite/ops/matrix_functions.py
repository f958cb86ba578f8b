"""The exponential of a matrix, and products of reflections."""

from __future__ import annotations

import math
from typing import Any

from ..core.batching import LEADING
from ..core.errors import not_implemented_for
from ..core.op import Op, functions
from ..core.publish import publish, publish_python
from ..core.tensor import Tensor
from .linalg import linalg, offer, offer_op, square
from .rules import INEXACT, undifferentiable

_TERMS = 18  # of the series, enough for doubles where the norm is at most one half


def _matrix_exp(xp: Any, a: Any) -> Any:
    """The series of a matrix halved often enough, squared as often; in doubles, as squaring doubles errors too."""
    wide = xp.complex128 if a.dtype.kind == "c" else xp.float64
    return _series(xp, a.astype(wide)).astype(a.dtype)


def _series(xp: Any, a: Any) -> Any:
    largest = float(xp.absolute(a).sum(-2).max()) if a.size else 0.0
    halvings = max(0, math.frexp(largest)[1] + 1) if math.isfinite(largest) else 0
    small = a / 2.0**halvings
    one = xp.eye(a.shape[-1], dtype=a.dtype)
    result = one + small / _TERMS
    for k in range(_TERMS - 1, 0, -1):
        result = one + xp.matmul(small, result) / k
    for _ in range(halvings):
        result = xp.matmul(result, result)
    return result


def _matrix_exp_vjp(g: Tensor, self: Tensor) -> Tensor:
    """A corner of the exponential of a matrix of blocks."""
    n, flipped = self.shape[-1], self.mH
    cat = functions["cat"]
    blocks = cat([cat([flipped, g], -1), cat([functions["zeros_like"](g), flipped], -1)], -2)
    return matrix_exp.apply(blocks)[..., :n, n:]


matrix_exp = Op(
    "linalg_matrix_exp(Tensor self)", _matrix_exp, {"self": _matrix_exp_vjp}, check=square("linalg.matrix_exp"),
    batch=LEADING,
)  # fmt: skip
offer_op(matrix_exp)
publish_python("matrix_exp(Tensor self)", linalg["matrix_exp"])


def _geqrf(xp: Any, a: Any) -> Any:
    reflections, tau = xp.linalg.qr(a, mode="raw")
    return reflections.swapaxes(-2, -1).astype(a.dtype), tau.astype(a.dtype)


def _check_geqrf(self: Tensor) -> None:
    if self.dim() < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if self.dtype not in INEXACT:
        raise not_implemented_for("geqrf_cpu", self.dtype)


geqrf = Op(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)", _geqrf,
    {"self": undifferentiable("the derivative for 'geqrf' is not implemented.", NotImplementedError)},
    check=_check_geqrf, batch=LEADING,
)  # fmt: skip
publish(geqrf)


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections whose vectors stand below the diagonal of `input`."""
    _check_reflections(input, tau)
    rows, columns = input.shape[-2:]
    one = functions["eye"](rows, columns, dtype=input.dtype, device=input.device)
    vectors = input.tril(-1) + one
    result = one.expand(input.shape)
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        result = result - tau[..., i, None, None] * (v @ (v.mH @ result))
    return result


def _check_reflections(input: Tensor, tau: Tensor) -> None:
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and "
            f"input.ndim is equal to {input.dim()}"
        )
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.legacy} does not match input dtype {input.dtype.legacy}")


offer("linalg_householder_product(Tensor input, Tensor tau)", householder_product)
