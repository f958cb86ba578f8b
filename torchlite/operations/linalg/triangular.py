"""Triangular systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import published
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Namespace, return_type, warn_once
from ..formulas import tensors
from ..products.matmul import H, into_exactly
from .base import (
    ByColumns,
    check_equation,
    check_kernel,
    check_matrices,
    check_square,
    columns,
    common_batch,
    offered,
)


def solve_triangle(xp: Namespace, a: Array, b: Array, upper: bool, left: bool, unitriangular: bool) -> Any:
    if not left:  # XA = B is AᵀXᵀ = Bᵀ
        turned = solve_triangle(xp, a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, True, unitriangular)
        return columns(xp, turned.swapaxes(-1, -2))
    x = columns(xp, xp.array(b, dtype=b.dtype))
    substitute(xp, a, x, upper, unitriangular)
    return x


def substitute(xp: Namespace, a: Array, x: Array, upper: bool, unitriangular: bool) -> None:
    """Solve in place: one half of the unknowns, then, with these filled in, the other."""
    n = a.shape[-1]
    if n < 2:
        if n and not unitriangular:
            x /= a
        return
    middle = n // 2
    halves = slice(middle), slice(middle, n)
    first, second = reversed(halves) if upper else halves
    substitute(xp, a[..., first, first], x[..., first, :], upper, unitriangular)
    x[..., second, :] -= xp.matmul(a[..., second, first], x[..., first, :])
    substitute(xp, a[..., second, second], x[..., second, :], upper, unitriangular)


def _triangle(t: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    return t.triu(int(unitriangular)) if upper else t.tril(-int(unitriangular))


def _triangular_vjp(
    g: Tensor, self: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool, needs: Sequence[bool]
) -> tuple[Tensor | None, Tensor]:
    g_b = triangular.apply(H(self), g, not upper, left, unitriangular)
    if not needs[0]:
        return None, g_b
    return _triangle(-(g_b.matmul(H(result)) if left else H(result).matmul(g_b)), upper, unitriangular), g_b


triangular: ByColumns = ByColumns(
    "_linalg_solve_triangular(Tensor self, Tensor B, bool upper, bool left, bool unitriangular)",
    solve_triangle,
    _triangular_vjp,
    node="LinalgSolveTriangularBackward0",
    batch=LEADING,
    seen_as=lambda *values: ("linalg_solve_triangular", values),
)


@offered(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)",
    into=into_exactly,
)
def solve_triangular(self: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The X of AX = B, or XA = B, for a triangular A."""
    name = "linalg.solve_triangular"
    check_square(name, self)
    check_matrices(name, B, "B")
    check_equation(name, self, B, left)
    check_kernel("triangular_solve_cpu", self)
    return triangular.apply(*common_batch(self, B), upper, left, unitriangular)


def check_old_system(name: str, b: Tensor, a: Tensor) -> None:
    for called, t in (("b", b), ("A" if name == "triangular_solve" else "u", a)):
        if t.dim() < 2:
            raise RuntimeError(f"{called} should have at least 2 dimensions, but has {t.dim()} dimensions instead")
    (rows, columns), (p, q) = a._array.shape[-2:], b._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if rows != p:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {rows} by {columns} but each b matrix is {p} by "
            f"{q}"
        )


def _old_solve(xp: Namespace, b: Array, a: Array, upper: bool, transpose: bool, unitriangular: bool) -> tuple[Any, Any]:
    matrix = a.swapaxes(-1, -2) if transpose else a
    return solve_triangle(xp, matrix, b, upper != transpose, True, unitriangular), columns(xp, a)


def _old_solve_vjp(
    grads: Sequence[Tensor | None], self: Tensor, A: Tensor, solution: Tensor, upper: bool, transpose: bool,
    unitriangular: bool,
) -> tuple[Tensor | None, Tensor | None]:
    g, g_a = grads
    if g is None:
        return tensors.zeros_like(self), g_a
    matrix, upper = (A.mT, not upper) if transpose else (A, upper)
    g_b = triangular.apply(H(matrix), g, not upper, True, unitriangular)
    through = -_triangle(g_b.matmul(H(solution)), upper, unitriangular)
    through = through.mT if transpose else through
    return g_b, through if g_a is None else through + g_a


_old_triangular = ByColumns(
    "_triangular_solve(Tensor self, Tensor A, bool upper, bool transpose, bool unitriangular) "
    "-> (Tensor solution, Tensor cloned_coefficient)",
    _old_solve, _old_solve_vjp, node="TriangularSolveBackward0", batch=LEADING, named=False,
)  # fmt: skip
_SOLUTION = return_type("triangular_solve", ("solution", "cloned_coefficient"))


@published(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) "
    "-> (Tensor solution, Tensor cloned_coefficient)",
    into=into_exactly,
)
def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    """The X of AX = B for a triangular A, and A."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a "
        "future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a "
        "copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
        "torch.linalg.solve_triangular(A, B)."
    )
    check_old_system("triangular_solve", self, A)
    check_kernel("triangular_solve_cpu", self)
    A, self = common_batch(A, self)
    return _SOLUTION(_old_triangular.apply(self, A, upper, transpose, unitriangular))
