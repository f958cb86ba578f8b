"""The factorisation of symmetric and Hermitian matrices that need not be definite, by Bunch and Kaufman's pivots."""

from __future__ import annotations

import math
from typing import Any

from ...core.machine import LEADING, NOT_IMPLEMENTED, Tensor
from ...core.values import Array, Namespace, dt, return_type
from ..products.matmul import into_exactly
from ..vocabulary import undifferentiable
from .base import (
    ByColumns,
    check_inexact,
    check_info,
    check_kernel,
    check_square,
    checked_apart,
    columns,
    common_batch,
    offered,
    one_by_one,
    spread,
)

_ALPHA = (1 + math.sqrt(17)) / 8  # bounds the growth of elements for pivots of one row and of two alike


def _transposed(a: Any, hermitian: bool) -> Any:
    return a.T.conj() if hermitian else a.T


def _mirrored(xp: Namespace, a: Array, hermitian: bool) -> Any:
    """The symmetric or Hermitian matrix of which `a` is the lower triangle."""
    strict, diagonal = xp.tril(a, -1), xp.diagonal(a)
    return strict + _transposed(strict, hermitian) + xp.diag(diagonal.real if hermitian else diagonal)


def _largest(xp: Namespace, column: Any) -> tuple[int, float]:
    if not column.size:
        return 0, 0.0
    size = xp.absolute(column.real) + xp.absolute(column.imag)
    at = int(size.argmax().item())
    return at, float(size[at].item())


def _choose(xp: Namespace, m: Any) -> tuple[int, int]:
    """Which row is to come first, or second where the pivot is to be of two rows; and of how many it is to be."""
    first = _largest(xp, m[0, :1])[1]
    at, below = _largest(xp, m[1:, 0])
    if first >= _ALPHA * below or math.isnan(first):
        return 0, 1
    at += 1
    row = max(_largest(xp, m[at, :at])[1], _largest(xp, m[at + 1 :, at])[1])
    if first * row >= _ALPHA * below * below:
        return 0, 1
    return at, 1 if _largest(xp, m[at, at : at + 1])[1] >= _ALPHA * row else 2


def _factor_one(xp: Namespace, a: Array, hermitian: bool) -> tuple[Any, list[int], int]:
    """L below the diagonal, with D on it and, for pivots of two rows, below it; pivots; the first that is 0 or NaN."""
    n = a.shape[-1]
    m = _mirrored(xp, a, hermitian)
    pivots: list[int] = []
    info = k = 0
    while k < n:
        rest = m[k:, k:]
        at, width = _choose(xp, rest)
        last = width - 1
        if at != last:
            order = xp.arange(n - k)
            order[at], order[last] = last, at
            rest[...] = rest[order][:, order]
        head, below = rest[:width, :width], rest[width:, :width]
        pivot = rest[0, 0].item()
        if width == 1 and (pivot == 0 or pivot != pivot):
            info = info or k + 1
        else:
            multipliers = xp.linalg.solve(head.T, below.T).T
            made = rest[width:, width:] - xp.matmul(multipliers, _transposed(below, hermitian))
            rest[width:, width:] = _mirrored(xp, made, hermitian)
            rest[width:, :width] = multipliers
        pivots += [k + at + 1] if width == 1 else [-(k + at + 1)] * 2
        k += width
    return xp.tril(m), pivots, info


def _factor(xp: Namespace, a: Array, hermitian: bool, caller: str | None) -> tuple[Any, Any, Any]:
    n, batch = a.shape[-1], a.shape[:-2]
    made = [_factor_one(xp, m, hermitian) for m in one_by_one(a)]
    packed = xp.stack([m for m, _, _ in made]) if made else a
    pivots = xp.asarray([p for _, p, _ in made], dtype="int32").reshape((*batch, n))
    info = xp.asarray([i for _, _, i in made], dtype="int32").reshape(batch)
    check_info(info, caller)
    return columns(xp, packed.reshape(a.shape)), pivots, info


def _check_factor(self: Tensor, *_: Any) -> None:
    name = "torch.linalg.ldl_factor_ex"
    check_square(name, self)
    check_inexact(name, self, low=True)
    check_kernel("ldl_factor_kernel_cpu", self)


_factored: ByColumns = ByColumns(
    "_linalg_ldl_factor_ex(Tensor self, bool hermitian, str? caller) -> (Tensor LD, Tensor pivots, Tensor info)",
    _factor, {"self": undifferentiable("")}, check=_check_factor, node=NOT_IMPLEMENTED, batch=LEADING,
    made_of=checked_apart(lambda self, hermitian: _factored.apply(self, hermitian, None)),
    seen_as=lambda self, hermitian, caller: ("linalg_ldl_factor_ex", (self, hermitian, caller is not None)),
)  # fmt: skip
_FACTORED = return_type("linalg_ldl_factor", ("LD", "pivots"))
_FACTORED_EX = return_type("linalg_ldl_factor_ex", ("LD", "pivots", "info"))


@offered("linalg_ldl_factor(Tensor self, *, bool hermitian=False)", into=into_exactly)
def ldl_factor(self: Tensor, hermitian: bool) -> Any:
    """L and D in one matrix, and the rows that were exchanged."""
    return _FACTORED(_factored.apply(self, hermitian, "torch.linalg.ldl_factor")[:2])


@offered("linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)", into=into_exactly)
def ldl_factor_ex(self: Tensor, hermitian: bool, check_errors: bool) -> Any:
    """As `ldl_factor`, and which element of D is the first that is zero (0: none)."""
    return _FACTORED_EX(_factored.apply(self, hermitian, "torch.linalg.ldl_factor_ex" if check_errors else None))


# ---- systems, given the factors


def _divided(xp: Namespace, rows: Array, pivot: Array) -> Array:
    """Rows over a pivot of one row or of two alike; what is divided by zero is no number."""
    if len(pivot) == 1:
        return rows / pivot
    size = xp.absolute(pivot[1, 0])
    (a, b), (c, d) = pivot / size
    (one, other), determinant = rows / size, a * d - b * c
    return xp.stack([(d * one - b * other) / determinant, (a * other - c * one) / determinant])


def _solve_one(xp: Namespace, ld: Any, pivots: list[int], b: Array, hermitian: bool) -> Any:
    x = xp.array(b)
    blocks, k = [], 0
    while k < len(pivots):
        width = 1 if pivots[k] > 0 else 2
        blocks.append((k, k + width, abs(pivots[k]) - 1))
        k += width

    def exchange(i: int, j: int) -> None:
        if i != j:
            x[[i, j]] = x[[j, i]]

    for first, after, row in blocks:
        exchange(after - 1, row)
        x[after:] -= xp.matmul(ld[after:, first:after], x[first:after])
        x[first:after] = _divided(xp, x[first:after], _mirrored(xp, ld[first:after, first:after], hermitian))
    for first, after, row in reversed(blocks):
        x[first:after] -= xp.matmul(_transposed(ld[after:, first:after], hermitian), x[after:])
        exchange(after - 1, row)
    return x


def _solve(xp: Namespace, ld: Any, pivots: Any, b: Array, hermitian: bool) -> Any:
    each = zip(one_by_one(ld), one_by_one(pivots, 1).tolist(), one_by_one(b))
    made = [_solve_one(xp, m, p, x, hermitian) for m, p, x in each]
    return columns(xp, xp.stack(made).reshape(b.shape) if made else xp.array(b))


_solve_op = ByColumns(
    "_linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian)", _solve, undifferentiable(""),
    node=NOT_IMPLEMENTED, batch=LEADING,
)  # fmt: skip


@offered("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False)", into=into_exactly)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """The X of AX = B, given the factors of A."""
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD")
    expected = LD.shape[:-1]
    if pivots.shape != expected:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.dtype.category != dt.INT:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.legacy}")
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.legacy} and A of type "
            f"{LD.dtype.legacy} instead."
        )
    if LD.shape[-1] != B.size(-2):
        (m, n), (p, q) = LD.shape[-2:], B.shape[-2:]
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {m} by {n} but each b matrix is {p} by {q}"
        )
    LD, B = common_batch(LD, B)
    return _solve_op.apply(LD, spread(pivots, LD.shape[:-1]), B, hermitian)
