"""Functions of square matrices: powers and the exponential."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, describe, publish_python
from ...core.machine import LEADING, Tensor, functions
from ...core.values import Array, Namespace
from ..products.matmul import H
from ..shapes.slicing import slice_
from .base import check_inexact, check_square, linalg, offer_op

_TERMS = 18  # of the series, enough for doubles where the norm is at most one half


def _matrix_exp(xp: Namespace, a: Array) -> Array:
    """The series of a matrix halved often enough, squared as often; in doubles, as squaring doubles errors too."""
    wide = xp.complex128 if a.dtype.kind == "c" else xp.float64
    return _series(xp, a.astype(wide)).astype(a.dtype)


def _series(xp: Namespace, a: Array) -> Any:
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
    n, flipped = self.shape[-1], H(self)
    cat = functions["cat"]
    blocks = cat([cat([flipped, g], -1), cat([functions["zeros_like"](g), flipped], -1)], -2)
    return slice_.apply(slice_.apply(matrix_exp.apply(blocks), -2, 0, n, 1), -1, n, 2 * n, 1)


def _check_matrix_exp(self: Tensor) -> None:
    check_square("linalg.matrix_exp", self)
    check_inexact("linalg.matrix_exp", self, low=True)


matrix_exp = Op(
    "linalg_matrix_exp(Tensor self)", _matrix_exp, {"self": _matrix_exp_vjp}, check=_check_matrix_exp, batch=LEADING,
)  # fmt: skip
offer_op(matrix_exp)
publish_python("matrix_exp(Tensor self)", linalg["matrix_exp"])


describe(linalg_matrix_exp="The exponential of a square matrix.", matrix_exp="The exponential of a square matrix.")
