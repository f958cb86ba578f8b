"""Systems of equations, inverses and determinants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import publish_python
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Namespace, broadcast_shapes, return_type
from ..products.matmul import H, into_exactly
from .base import (
    ByColumns,
    check_equation,
    check_inexact,
    check_info,
    check_kernel,
    check_square,
    checked_apart,
    columns,
    offer,
    offered,
    spread,
    square,
)
from .lu import eliminate, lu_solved, solve_factored

# In the ops, `caller` is the function that refuses singular matrices.

# ---- inverses


def _inv(xp: Namespace, a: Array, caller: str | None) -> tuple[Any, Any]:
    try:
        return columns(xp, xp.linalg.inv(a)), xp.zeros(a.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        lu, pivots, info = eliminate(xp, a)
    check_info(info, caller)
    one = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return lu_solved(xp, lu, pivots, one), info


inverse: ByColumns = ByColumns(
    "_linalg_inv_ex(Tensor A, str? caller) -> (Tensor inverse, Tensor info)", _inv,
    {"A": lambda g, inverse: -H(inverse).matmul(g).matmul(H(inverse))},
    check=square("linalg.inv"), node="LinalgInvExBackward0", batch=LEADING,
    made_of=checked_apart(lambda A: inverse.apply(A, None)),
    seen_as=lambda A, caller: ("linalg_inv_ex", (A, caller is not None)),
)  # fmt: skip
_INVERTED = return_type("linalg_inv_ex", ("inverse", "info"))


def inv(A: Tensor) -> Tensor:
    """The inverse of a matrix."""
    return inverse.apply(A, "linalg.inv")[0]


@offered("linalg_inv_ex(Tensor A, *, bool check_errors=False)", into=into_exactly)
def inv_ex(A: Tensor, check_errors: bool = False) -> Any:
    """The inverse, and which element on the diagonal of U is zero, of the factors L and U (0: none)."""
    return _INVERTED(inverse.apply(A, "linalg.inv_ex" if check_errors else None))


offer("linalg_inv(Tensor A)", inv, into=into_exactly)
publish_python("inverse(Tensor self)", inv, into=into_exactly)

# ---- systems of equations


def _solve(xp: Namespace, a: Array, b: Array, left: bool, vectors: bool, caller: str | None) -> tuple[Any, Any]:
    if vectors:
        made, info = _solve(xp, a, b[..., None], left, False, caller)
        return (columns(xp, made[..., 0]) if made.ndim > 2 else made[..., 0]), info
    if not left:
        made, info = _solve(xp, a.swapaxes(-1, -2), b.swapaxes(-1, -2), True, False, caller)
        return made.swapaxes(-1, -2), info
    try:
        return columns(xp, xp.linalg.solve(a, b)), xp.zeros(a.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        lu, pivots, info = eliminate(xp, a)
    check_info(info, caller)
    return lu_solved(xp, lu, pivots, b), info


def _adjointly(g: Tensor, A: Tensor, left: bool, vectors: bool) -> Tensor:
    """The solution of the adjoint equations, for vectors as matrices of one column."""
    return solving.apply(H(A), g.unsqueeze(-1) if vectors else g, left, False, None)[0]


def _gradient_of_right(g: Tensor, A: Tensor, left: bool, vectors: bool) -> Tensor:
    solved = _adjointly(g, A, left, vectors)
    return solved.squeeze(-1) if vectors else solved


def _gradient_of_matrix(g: Tensor, A: Tensor, result: Tensor, left: bool, vectors: bool) -> Tensor:
    solved = _adjointly(g, A, left, vectors)
    result = result.unsqueeze(-1) if vectors else result
    return -(solved.matmul(H(result)) if left else H(result).matmul(solved))


solving: ByColumns = ByColumns(
    "_linalg_solve(Tensor A, Tensor B, bool left, bool vectors, str? caller) "
    "-> (Tensor result, Tensor info)",
    _solve,
    {"A": _gradient_of_matrix, "B": _gradient_of_right}, node="LinalgSolveExBackward0", batch=LEADING,
    made_of=lambda *values: checked_apart(_with_factors)(*values) or (lambda: _with_factors(*values[:-1])),
)  # fmt: skip
_SOLVED = return_type("linalg_solve_ex", ("result", "info"))


def _of_vectors(A: Any, B: Any) -> bool:
    """Whether B holds vectors, not matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def _solve_with_factors(xp: Namespace, a: Array, b: Array, left: bool, check: bool) -> tuple[Any, ...]:
    lu, pivots, info = eliminate(xp, a)
    if check:
        check_info(info, "torch.linalg.solve_ex")
    return _solve(xp, a, b, left, _of_vectors(a, b), None)[0], lu, pivots, info


def _gradients_by_factors(
    g: Tensor, A: Tensor, B: Tensor, result: Tensor, LU: Tensor, pivots: Tensor, left: bool, needs: Sequence[bool]
) -> tuple[Tensor | None, Tensor]:
    vectors = _of_vectors(A, B)
    solved = solve_factored.apply(LU, pivots, g.unsqueeze(-1) if vectors else g, left, True)
    to_A = None
    if needs[0]:
        turned = H(result.unsqueeze(-1) if vectors else result)
        to_A = -(solved.matmul(turned) if left else turned.matmul(solved))
    return to_A, solved.squeeze(-1) if vectors else solved


_solving_with_factors: ByColumns = ByColumns(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
    "-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    _solve_with_factors, _gradients_by_factors, node="LinalgSolveExBackward0", differentiable=1,
)  # fmt: skip


def _with_factors(A: Tensor, B: Tensor, left: bool, vectors: bool) -> tuple[Tensor, Tensor]:
    result, _, _, info = _solving_with_factors.apply(A, B, left, False)
    return result, info


def _solved(A: Tensor, B: Tensor, left: bool, caller: str | None) -> tuple[Tensor, Tensor]:
    name = "linalg.solve"
    check_square(name, A)
    check_inexact(name, A, low=True)
    check_kernel("lu_cpu", A)
    vectors = _of_vectors(A, B)
    if vectors and not left:
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False.")
    check_equation(name, A, B, left, vectors=vectors)
    a, b, matrix = A._array.shape, B._array.shape, vectors - 2  # from where on dimensions are no batch's
    batch = broadcast_shapes(a[:-2], b[:matrix])
    return solving.apply(spread(A, (*batch, *a[-2:])), spread(B, (*batch, *b[matrix:])), left, vectors, caller)


@offered("linalg_solve(Tensor A, Tensor B, *, bool left=True)", into=into_exactly)
def solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """The X of AX = B, or XA = B."""
    return _solved(A, B, left, "torch.linalg.solve")[0]


@offered("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", into=into_exactly)
def solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    """As `solve`, and which element on the diagonal of U is zero, of the factors L and U of A (0: none)."""
    return _SOLVED(_solved(A, B, left, "torch.linalg.solve_ex" if check_errors else None))


def _check_foldable(rows: int, columns: int, at: str) -> None:
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[{at}:]) == prod(self.shape[:{at}]), but got "
            f"{columns} != {rows}"
        )


@offered("linalg_tensorinv(Tensor self, int ind=2)")
def tensorinv(self: Tensor, ind: int) -> Tensor:
    """The inverse of a tensor as a map from its last dimensions to the first `ind`."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if self.dim() < ind:
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {self.dim()}")
    first, last = self.shape[:ind], self.shape[ind:]
    _check_foldable(math.prod(first), math.prod(last), "ind")
    return inverse.apply(self.reshape((math.prod(last), math.prod(first))), "inv")[0].reshape((*last, *first))


@offered("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None)")
def tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None) -> Tensor:
    """The tensor that `self`, as a map, takes to `other`."""
    if dims is not None:
        self = self.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    rest = self.shape[other.dim() :]
    _check_foldable(other.numel(), math.prod(rest), "other.ndim")
    return solve(self.reshape((-1, math.prod(rest))), other.reshape((-1,))).reshape(rest)
