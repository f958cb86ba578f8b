"""Cholesky's factorisation of positive-definite matrices, and what is done with the factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, describe, published
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Namespace, warn_once
from ..products.matmul import H, into_exactly
from .base import (
    ByColumns,
    adjoint,
    check_info,
    check_kernel,
    check_square,
    checked_apart,
    columns,
    common_batch,
    diagonal,
    into_laid,
    offer_op,
    offered,
    one_by_one,
    square,
)
from .triangular import check_old_system, solve_triangle, triangular


def _factor(xp: Namespace, a: Array) -> Any:
    made = xp.linalg.cholesky(a)
    if not xp.isfinite(made).all():  # what libraries give that do not raise, or make of infinity
        raise xp.linalg.LinAlgError
    return made


def _as_far(xp: Namespace, a: Array) -> tuple[Any, int]:
    """The factor, column by column as far as there is one, and at which column it ends (0: it is whole)."""
    made = xp.tril(a)
    for k in range(len(made)):
        column = made[k:, k] - xp.matmul(made[k:, :k], made[k, :k].conj())
        pivot = column[0].real
        if not bool((pivot > 0).item()):
            made[k, k] = pivot
            return made, k + 1
        made[k:, k] = column / xp.sqrt(pivot)
    return made, 0


def _cholesky(xp: Namespace, a: Array, upper: bool, caller: str | None) -> tuple[Any, ...]:
    lower = adjoint(a) if upper else a
    info = xp.zeros(a.shape[:-2], "int32")
    try:
        made = _factor(xp, lower)
    except xp.linalg.LinAlgError:
        parts, faults = zip(*[_as_far(xp, m) for m in one_by_one(lower)])
        made = xp.stack(parts).reshape(a.shape)
        info = xp.asarray(faults, dtype="int32").reshape(info.shape)
    check_info(info, caller)
    return columns(xp, adjoint(made) if upper else made), info


def _cholesky_vjp(g: Tensor, upper: bool, L: Tensor) -> Tensor:
    if upper:
        g, L = H(g), H(L)
    product = H(L).matmul(g)
    inner = (product.tril() + H(product.tril(-1))) * 0.5
    return triangular.apply(L, triangular.apply(H(L), inner, True, True, False), False, False, False)


cholesky_ex = ByColumns(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    lambda xp, a, upper, check_errors: _cholesky(xp, a, upper, "linalg.cholesky_ex" if check_errors else None),
    {"self": _cholesky_vjp},
    check=square("linalg.cholesky", "cholesky_cpu"),
    batch=LEADING,
)
offer_op(cholesky_ex)


@offered("linalg_cholesky(Tensor self, *, bool upper=False)", into=into_exactly)
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """The triangular matrix whose product with its adjoint is a positive-definite one."""
    return _cholesky_op.apply(self, upper, "linalg.cholesky")


@published("cholesky(Tensor self, bool upper=False)")
def _old_cholesky(self: Tensor, upper: bool) -> Tensor:
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = "
        "torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will "
        "produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    if not self.numel() and self.shape[-2:-1] != self.shape[-1:]:  # which it lets pass for no matrices
        return self.new_empty(self.shape)
    return _old_cholesky_op.apply(self, upper, "cholesky")


def _check_old(self: Tensor, *_: Any) -> None:
    check_square("cholesky", self)
    check_kernel("cholesky_cpu", self)


_cholesky_op, _old_cholesky_op = [
    Op(
        f"{name}(Tensor self, bool upper, str caller)", lambda xp, a, upper, caller: _cholesky(xp, a, upper, caller)[0],
        {"self": lambda g, upper, result: _cholesky_vjp(g, upper, result)},
        check=check, node=node, batch=LEADING, **seen,
    )
    for name, node, check, seen in (
        ("_linalg_cholesky", "LinalgCholeskyExBackward0", cholesky_ex.check, {
            "made_of": checked_apart(lambda self, upper: cholesky_ex.apply(self, upper, False), first=True),
        }),
        ("_cholesky", "CholeskyBackward0", _check_old, {"seen_as": lambda *values: ("cholesky", values[:2])}),
    )
]  # fmt: skip


# ---- systems and inverses, given the factor


def _cholesky_solve(xp: Namespace, b: Array, factor: Any, upper: bool) -> Any:
    other = adjoint(factor)
    lower, turned = (other, factor) if upper else (factor, other)
    half = solve_triangle(xp, lower, b, False, True, False)
    return solve_triangle(xp, turned, half, True, True, False)


def _cholesky_inverse(xp: Namespace, factor: Array, upper: bool) -> Any:
    zeros = diagonal(factor) == 0
    check_info((zeros.any(-1) * (zeros.argmax(-1) + 1)) if zeros.size else zeros.any(-1), "cholesky_inverse")
    one = xp.broadcast_to(xp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    return _cholesky_solve(xp, one, factor, upper)


def _beside(factor: Tensor, both: Tensor, upper: bool) -> Tensor:
    return factor.matmul(both) if upper else both.matmul(factor)


def _cholesky_solve_vjp(
    g: Tensor, self: Tensor, input2: Tensor, result: Tensor, upper: bool, needs: Sequence[bool]
) -> tuple[Tensor, Tensor | None]:
    g_b = _cholesky_solve_op.apply(g, input2, upper)
    if not needs[1]:
        return g_b, None
    half = g_b.matmul(H(result))
    return g_b, -_beside(input2, half + H(half), upper)


_cholesky_solve_op: ByColumns = ByColumns(
    "_cholesky_solve(Tensor self, Tensor input2, bool upper)",
    _cholesky_solve,
    _cholesky_solve_vjp,
    node="CholeskySolveBackward0",
    batch=LEADING,
    seen_as=lambda *values: ("cholesky_solve", values),
)
_cholesky_inverse_op = ByColumns(
    "_cholesky_inverse(Tensor self, bool upper)",
    _cholesky_inverse,
    {"self": lambda g, self, result, upper: -_beside(self, result.matmul(g + H(g)).matmul(result), upper)},
    node="CholeskyInverseBackward0",
    batch=LEADING,
    seen_as=lambda *values: ("cholesky_inverse", values),
)


@published("cholesky_solve(Tensor self, Tensor input2, bool upper=False)")
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The X of AX = B, given the Cholesky factor of A."""
    check_old_system("cholesky_solve", self, input2)
    if self.dtype is not input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {self.dtype.legacy} and A of type "
            f"{input2.dtype.legacy} instead."
        )
    check_kernel("cholesky_solve_cpu", self)
    return _cholesky_solve_op.apply(*common_batch(self, input2), upper)


@published("cholesky_inverse(Tensor self, bool upper=False)", into=into_laid)
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix, given its Cholesky factor."""
    check_square("cholesky_inverse", self)
    check_kernel("cholesky_inverse_out_cpu", self)
    return _cholesky_inverse_op.apply(self, upper)


describe(
    cholesky="The lower triangular factor `L` of a positive definite matrix, `A = L @ L.mH`; with `upper`, its "
    "adjoint.",
    linalg_cholesky_ex="As `cholesky`, with numbers that say where it failed instead of an error: `(L, info)`.",
)
