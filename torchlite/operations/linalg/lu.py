"""The factors P, L and U of a matrix: a permutation, a lower triangle with ones on its diagonal, an upper one."""

from __future__ import annotations

from typing import Any

from ...core.declare import Op, describe, function, method, published, published_whole
from ...core.machine import LEADING, Tensor, functions, overridable
from ...core.values import Array, Namespace, dt, return_type, warn_once
from ..images.padding import constant_pad_nd
from ..products.matmul import H, into_exactly
from ..shapes.slicing import slice_
from .base import (
    ByColumns,
    adjoint,
    check_equation,
    check_inexact,
    check_info,
    check_kernel,
    check_matrices,
    check_square,
    checked_apart,
    columns,
    common_batch,
    diagonal,
    offered,
    one_by_one,
    spread,
)
from .triangular import solve_triangle, substitute, triangular

_PANEL = 16  # as many columns are eliminated one by one

# ---- kernels


def eliminate(xp: Namespace, a: Array) -> tuple[Any, Any, Any]:
    """L and U in one array, the row that each row was exchanged with, and where U has its first zero (0: nowhere)."""
    rows, width = a.shape[-2:]
    k = min(rows, width)
    flat = columns(xp, one_by_one(xp.array(a)))
    pivots = xp.empty((len(flat), k), "int32")
    _eliminate(xp, flat, pivots, 0, k)
    if width > k:
        substitute(xp, flat[..., :k], flat[..., k:], False, True)
    zeros = diagonal(flat) == 0
    info = xp.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if k else xp.zeros(len(flat))
    batch = a.shape[:-2]
    return flat.reshape(a.shape), pivots.reshape((*batch, k)), info.astype("int32").reshape(batch)


def _eliminate(xp: Namespace, a: Array, pivots: Any, first: int, last: int) -> None:
    """Columns `first` to `last`, in place: one half, then, with what it does to it, the other."""
    if last - first > _PANEL:
        middle = (first + last) // 2
        left, right, below = slice(first, middle), slice(middle, last), slice(middle, None)
        _eliminate(xp, a, pivots, first, middle)
        lower = xp.tril(a[:, left, left], -1) + xp.eye(middle - first, dtype=a.dtype)
        a[:, left, right] = xp.linalg.solve(lower, a[:, left, right])
        a[:, below, right] -= xp.matmul(a[:, below, left], a[:, left, right])
        _eliminate(xp, a, pivots, middle, last)
        return
    for k in range(first, last):
        column = a[:, k:, k]
        size = xp.absolute(column.real) + xp.absolute(column.imag) if a.dtype.kind == "c" else xp.absolute(column)
        chosen = size.argmax(-1) + k
        pivots[:, k] = chosen + 1
        _exchange(xp, a, k, chosen)
        pivot = a[:, k, k, None]
        a[:, k + 1 :, k] /= xp.where(pivot == 0, 1, pivot)
        a[:, k + 1 :, k + 1 : last] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 : last]


def _exchange(xp: Namespace, a: Array, i: int, chosen: Any) -> None:
    """Exchange row `i` of each with that chosen for it."""
    each = xp.arange(len(a))
    row = a[each, chosen]
    a[each, chosen] = a[:, i]
    a[:, i] = row


def _order(xp: Namespace, pivots: Array, rows: int) -> Array:
    """The order that the exchanges bring rows into."""
    flat = one_by_one(pivots, 1) - 1
    order = xp.tile(xp.arange(rows), (len(flat), 1))
    for i in range(flat.shape[-1]):
        _exchange(xp, order, i, flat[:, i])
    return order.reshape((*pivots.shape[:-1], rows))


def lu_solved(xp: Namespace, lu: Array, pivots: Any, b: Array, left: bool = True, adjointly: bool = False) -> Any:
    """The X of AX = B, XA = B, AᴴX = B or XAᴴ = B."""
    if not left:  # XA = B is AᴴXᴴ = Bᴴ
        return columns(xp, lu_solved(xp, lu, pivots, adjoint(b), True, not adjointly).conj()).swapaxes(-1, -2)
    order = _order(xp, pivots, lu.shape[-1])
    if not adjointly:
        half = solve_triangle(xp, lu, xp.take_along_axis(b, order[..., None], -2), False, True, True)
        return solve_triangle(xp, lu, half, True, True, False)
    half = solve_triangle(xp, adjoint(lu), b, False, True, False)
    whole = solve_triangle(xp, adjoint(lu), half, True, True, True)
    return columns(xp, xp.take_along_axis(whole, order.argsort(-1)[..., None], -2))


# ---- the factors apart


_PIVOTS = (
    "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
    "Did you properly pass the result of lu_factor?"
)


def _permutation(xp: Namespace, pivots: Any, rows: int) -> Array:
    if pivots.size and ((pivots < 1) | (pivots > rows)).any():
        raise RuntimeError(_PIVOTS)
    return xp.ascontiguousarray(xp.eye(rows, dtype=bool)[_order(xp, pivots, rows)].swapaxes(-1, -2))


permutation = Op("_lu_permutation(Tensor pivots, int rows)", _permutation, batch=LEADING)


def _unpack(xp: Namespace, lu: Array) -> tuple[Any, Any]:
    k = min(lu.shape[-2:])
    one = xp.eye(lu.shape[-2], k, dtype=lu.dtype)
    return xp.tril(xp.ascontiguousarray(lu[..., :k]), -1) + one, xp.triu(xp.ascontiguousarray(lu[..., :k, :]))


def _pack(grads: Any, LU_data_shape: tuple[int, ...]) -> Tensor | None:
    """The gradient of both factors in one matrix."""
    (rows, width), (lower, upper) = LU_data_shape[-2:], grads
    k = min(rows, width)
    parts = []
    if lower is not None:
        parts.append(constant_pad_nd.apply(lower.tril(-1), (0, width - k), 0))
    if upper is not None:
        parts.append(constant_pad_nd.apply(upper.triu(), (0, 0, 0, rows - k), 0))
    return sum(parts[1:], parts[0])


factors = ByColumns(
    "_lu_unpack(Tensor LU_data) -> (Tensor result0, Tensor result1)", _unpack, {"LU_data": _pack},
    node="LuUnpackBackward0", batch=LEADING,
)  # fmt: skip


def _check_at_least_2d(name: str, t: Tensor) -> None:
    if t.dim() < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(t.shape)} instead")


def _matrix(pivots: Tensor, like: Tensor) -> Tensor:
    """The permutation of rows, of the dtype of a factor."""
    return permutation.apply(pivots, like.shape[-2]).to(like.dtype)


_UNPACKED = return_type("lu_unpack", ("P", "L", "U"))


@published_whole(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) "
    "-> (Tensor P, Tensor L, Tensor U)",
    recorded=True, method=False, into=into_exactly,
)  # fmt: skip
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> Any:
    """The factors of a matrix, from what `torch.linalg.lu_factor` gives."""
    _check_at_least_2d("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots.dtype is not dt.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    shape, pivots = LU_data._array.shape, LU_pivots._array.shape
    if unpack_pivots and (pivots[:-1] != shape[:-2] or not pivots or pivots[-1] < min(shape[-2:])):
        raise RuntimeError(_PIVOTS)
    L, U = factors.apply(LU_data) if unpack_data else (LU_data.new_empty((0,)), LU_data.new_empty((0,)))
    made = _matrix(LU_pivots, LU_data) if unpack_pivots else LU_data.new_empty((0,))
    return _UNPACKED((made, L, U))


# ---- the factorisation


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    _check_at_least_2d(name, A)
    check_kernel("lu_cpu", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _lu_vjp(g_l: Tensor | None, g_u: Tensor | None, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The triangles of LᴴG(L) and G(U)Uᴴ, divided by the factors; beyond the square part, what the linear rest adds."""
    k, (rows, width) = L.shape[-1], (L.shape[-2], U.shape[-1])
    if rows > k:
        part = _tall_part(g_l, g_u, L, U)
        return P.matmul(triangular.apply(H(U), part, False, False, False))
    if width > k:
        part = _wide_part(g_l, g_u, L, U)
        return P.matmul(triangular.apply(H(L), part, True, True, True))
    parts = [] if g_l is None else [H(L).matmul(g_l).tril(-1)]
    parts += [] if g_u is None else [g_u.matmul(H(U)).triu()]
    both = sum(parts[1:], parts[0])
    inner = triangular.apply(H(U), both, False, False, False)
    return P.matmul(triangular.apply(H(L), inner, True, True, True))


def _tall_part(g_l: Tensor | None, g_u: Tensor | None, L: Tensor, U: Tensor) -> Tensor:
    """What is to be divided by U, of a matrix with more rows than columns."""
    rows, k = L.shape[-2:]
    g_l = L.new_zeros(L.shape) if g_l is None else g_l
    upper = None if g_u is None else g_u.matmul(H(U))
    lower = H(L).matmul(g_l.tril(-1))
    inner = (-lower if upper is None else upper - lower).triu()
    square = triangular.apply(H(slice_.apply(L, -2, 0, k, 1)), inner, True, True, True)
    square = square + slice_.apply(g_l, -2, 0, k, 1).tril(-1)
    return functions["cat"]((square, slice_.apply(g_l, -2, k, rows, 1)), -2)


def _wide_part(g_l: Tensor | None, g_u: Tensor | None, L: Tensor, U: Tensor) -> Tensor:
    """What is to be divided by L, of a matrix with more columns than rows."""
    k, width = U.shape[-2:]
    g_u = U.new_zeros(U.shape) if g_u is None else g_u
    lower = None if g_l is None else H(L).matmul(g_l)
    upper = g_u.triu().matmul(H(U))
    inner = (-upper if lower is None else lower - upper).tril(-1)
    square = triangular.apply(H(slice_.apply(U, -1, 0, k, 1)), inner, False, False, False)
    square = square + slice_.apply(g_u, -1, 0, k, 1).triu()
    return functions["cat"]((square, slice_.apply(g_u, -1, k, width, 1)), -1)


def _packed_vjp(g: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    P, L, U = functions["lu_unpack"](LU, pivots)
    k = L.shape[-1]
    return _lu_vjp(slice_.apply(g, -1, 0, k, 1), slice_.apply(g, -2, 0, k, 1), P, L, U)


def _factor(xp: Namespace, a: Array, pivot: bool, caller: str | None) -> tuple[Any, Any, Any]:
    made = eliminate(xp, a)
    if caller is not None:
        check_info(made[2], caller)
    return made


# `caller` is the function that refuses matrices with a zero on the diagonal of U.
factored: ByColumns = ByColumns(
    "_lu_factor_ex(Tensor A, bool pivot, str? caller) -> (Tensor LU, Tensor pivots, Tensor info)", _factor,
    {"A": _packed_vjp}, check=lambda A, pivot, _: _check_lu("torch.lu_factor", A, pivot),
    node="LinalgLuFactorExBackward0", batch=LEADING,
    made_of=checked_apart(lambda A, pivot: factored.apply(A, pivot, None)),
    seen_as=lambda A, pivot, caller: ("linalg_lu_factor_ex", (A, pivot, caller is not None)),
)  # fmt: skip
_FACTORED = return_type("linalg_lu_factor", ("LU", "pivots"))
_FACTORED_EX, _WITH_INFO = [
    return_type(name, ("LU", "pivots", "info")) for name in ("linalg_lu_factor_ex", "_lu_with_info")
]


@offered("linalg_lu_factor(Tensor A, *, bool pivot=True)", into=into_exactly)
def lu_factor(A: Tensor, pivot: bool) -> Any:
    """L and U in one matrix, and the rows that were exchanged."""
    return _FACTORED(factored.apply(A, pivot, "torch.linalg.lu_factor")[:2])


@offered("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)", into=into_exactly)
def lu_factor_ex(A: Tensor, pivot: bool, check_errors: bool) -> Any:
    """As `lu_factor`, and where U has its first zero on the diagonal (0: nowhere)."""
    return _FACTORED_EX(factored.apply(A, pivot, "torch.linalg.lu_factor_ex" if check_errors else None))


def _apart(xp: Namespace, a: Array, pivot: bool) -> tuple[Any, Any, Any]:
    packed, pivots, _ = eliminate(xp, a)
    return (pivots, *_unpack(xp, packed))


_lu = ByColumns(
    "_linalg_lu(Tensor A, bool pivot) -> (Tensor pivots, Tensor L, Tensor U)", _apart,
    {"A": lambda grads, pivots, L, U: _lu_vjp(grads[1], grads[2], _matrix(pivots, L), L, U)},
    check=lambda A, pivot: _check_lu("linalg.lu", A, pivot), node="LinalgLuBackward0", batch=LEADING,
)  # fmt: skip
_FACTORS = return_type("linalg_lu", ("P", "L", "U"))


@offered("linalg_lu(Tensor A, *, bool pivot=True)", into=into_exactly)
def lu(A: Tensor, pivot: bool) -> Any:
    """The permutation and the triangles whose product a matrix is."""
    pivots, L, U = _lu.apply(A, pivot)
    return _FACTORS((_matrix(pivots, A), L, U))


@published("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True)", method=False)
def _old_lu(A: Tensor, pivot: bool, check_errors: bool) -> Any:
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in "
        "a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
        "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, "
        "get_infos=True)\nshould be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    return _WITH_INFO(factored.apply(A, pivot, "torch.linalg.lu_factor_ex" if check_errors else None))


@overridable
def lu_with_infos(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix, the rows that were exchanged, and, if asked for, where U has a zero."""
    made = functions["_lu_with_info"](A, pivot, False)
    made = made if get_infos else tuple(made)[:2]
    if out is None:
        return made
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) - int(get_infos) != 2:
        raise TypeError(f"expected tuple of {2 + int(get_infos)} elements but got {len(out)}")
    for target, result in zip(out, made, strict=True):
        target.resize_as_(result).copy_(result)
    return out


function("lu")(lu_with_infos)


@method("lu")
def _method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Any, ...]:
    return tuple(lu_with_infos(self, pivot, get_infos))


# ---- systems, given the factors


def _lu_solve_of_factors(g: Tensor, LU: Tensor, pivots: Tensor, result: Tensor, left: bool, adjoint: bool) -> Tensor:
    g_b = solve_factored.apply(LU, pivots, g, left, not adjoint)
    L, U = factors.apply(LU)
    product = [(result, g_b), (g_b, result)][left]  # of AX = B or XA = B
    first, second = product[::-1] if adjoint else product
    g_a = -(first.matmul(H(second)) if left else H(first).matmul(second))
    straight = permutation.apply(pivots, LU.shape[-1]).mT.to(g.dtype).matmul(g_a)
    return straight.matmul(H(U)).tril(-1) + H(L).matmul(straight).triu()


solve_factored: ByColumns = ByColumns(
    "_linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left, bool adjoint)", lu_solved,
    {
        "LU": _lu_solve_of_factors,
        "pivots": None,
        "B": lambda g, LU, pivots, left, adjoint: solve_factored.apply(LU, pivots, g, left, not adjoint),
    },
    node="LinalgLuSolveBackward0", batch=LEADING,
    seen_as=lambda *values: ("linalg_lu_solve", values),
)  # fmt: skip


@offered(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)", into=into_exactly
)
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The X of AX = B, or XA = B, or with the adjoint of A, given the factors of A."""
    name = "linalg.lu_solve"
    check_square(f"torch.{name}", LU)
    check_inexact(f"torch.{name}", LU, low=True)
    check_kernel("linalg.lu_solve_cpu", LU)
    if pivots.dtype is not dt.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_matrices(name, B, "B")
    check_equation(name, LU, B, left, "LU")
    if pivots.dim() and pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    LU, B = common_batch(LU, B)
    return solve_factored.apply(LU, spread(pivots, LU.shape[:-1]), B, left, adjoint)


@published("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots)", into=into_exactly)
def _old_lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch "
        "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return lu_solve(LU_data, LU_pivots, self, True, False)


describe(
    lu="Factors of a matrix by elimination: a permutation, a lower and an upper triangle.",
    lu_solve="The solution of `A @ X = B` for a matrix whose LU factors are known.",
)
