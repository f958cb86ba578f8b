"""What there is of an inverse for any matrix: the pseudoinverse, least squares, the rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Composite, Op, describe, publish_python
from ...core.machine import LEADING, Leading, Tensor, TensorBase, functions
from ...core.state import is_watched, local
from ...core.values import Array, Namespace, broadcast_shapes, dt, return_type, strided
from ..products.matmul import H
from ..shapes.slicing import slice_
from ..vocabulary import INEXACT
from .base import adjoint, check_matrices, check_square, converging, linalg, offer_op, offered, spread

_NOT_CONVERGING = "The algorithm failed to converge because the input matrix contained non-finite values."


def _decomposed(xp: Namespace, a: Array) -> tuple[Any, Any, Any]:
    return converging(xp, lambda m: xp.linalg.svd(m, full_matrices=False), a, "linalg.svd", _NOT_CONVERGING)


def _check_precise(d: dt.dtype) -> None:
    if d not in INEXACT or d in dt.WIDE:
        raise RuntimeError("This function doesn't handle types other than float and double")


def _usual_tolerance(a: Any) -> float:
    """How small singular values of a tensor, or an array, count as zero where nothing is said, beside the largest."""
    d = a.dtype if isinstance(a, TensorBase) else dt.of_numpy(a.dtype)
    return float(dt.finfo(d.to_real()).eps) * max(a.shape[-2:])


# ---- how small a singular value counts as zero


def _tolerances(name: str, A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> tuple[Tensor, Any, Any]:
    """`A`, and the absolute and the relative tolerance that are given, as tensors of one batch."""
    for called, t in (("atol", atol), ("rtol", rtol)):
        if isinstance(t, TensorBase) and t.is_complex():
            raise RuntimeError(
                f"torch.linalg.{name}: {called} tensor of complex type is not supported. Got {t.dtype.legacy}"
            )
    _check_precise(A.dtype)
    if _are_numbers(atol, rtol):
        atol = 0.0 if atol is None else atol
        rtol = (0.0 if atol > 0 else _usual_tolerance(A)) if rtol is None else rtol
    atol, rtol = [
        t if t is None or isinstance(t, TensorBase)
        else functions["full"]((), t, dtype=dt.float64, layout=strided, device=A.device)
        for t in (atol, rtol)
    ]  # fmt: skip
    if hermitian:
        check_square("linalg.eigh", A)
    batch = broadcast_shapes(A._array.shape[:-2], *[t._array.shape for t in (atol, rtol) if t is not None])
    absolute, relative = [None if t is None else spread(t, batch) for t in (atol, rtol)]
    return spread(A, (*batch, *A.shape[-2:])), absolute, relative


def _are_numbers(*tolerances: Any) -> bool:
    """Whether tolerances are given, and no tensors."""
    given = [t for t in tolerances if t is not None]
    return bool(given) and not any([isinstance(t, TensorBase) for t in given])


def _significant(xp: Namespace, a: Array, sizes: Array, atol: Any, rtol: Any) -> Any:
    """Which singular values, or sizes of eigenvalues, of `a` count as more than zero."""
    if not sizes.shape[-1]:
        return sizes > 0
    least = xp.zeros((), sizes.dtype) if atol is None else atol.astype(sizes.dtype)
    share = xp.where(least > 0, 0, _usual_tolerance(a)) if rtol is None else rtol
    return sizes > xp.maximum(least, share.astype(sizes.dtype) * sizes.max(-1))[..., None]


# ---- the pseudoinverse


def _pinv(xp: Namespace, a: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    if not a.size:
        return xp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, vectors = xp.linalg.eigh(a)
        left = right = vectors
    else:
        left, values, vh = _decomposed(xp, a)
        right = adjoint(vh)
    kept = _significant(xp, a, xp.absolute(values), atol, rtol)
    inverse = xp.where(kept, 1 / xp.where(kept, values, 1), 0)
    return xp.matmul(right * inverse[..., None, :], adjoint(left))


def pinv_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """From d(A⁺) = -A⁺ dA A⁺ + A⁺A⁺ᴴ dAᴴ (1 - AA⁺) + (1 - A⁺A) dAᴴ A⁺ᴴA⁺."""
    adjoint, turned = H(result), H(g)
    if self.shape[-2] <= self.shape[-1]:
        inner = turned.matmul(result)
        first = inner.matmul(adjoint)
        second = adjoint.matmul(result).matmul(turned - inner.matmul(self))
        without = self.matmul(result).matmul(first)
        return -H(result.matmul(inner)) + first - without + second
    inner = result.matmul(turned)
    second = adjoint.matmul(inner)
    # Tiny numbers meet their inverses first, lest these overflow; a dispatch mode sees PyTorch's order.
    without = second.matmul(result).matmul(self) if is_watched() else second.matmul(result.matmul(self))
    first = (turned - self.matmul(inner)).matmul(result).matmul(adjoint)
    return -H(inner.matmul(result)) + first + second - without


pseudoinverse = Op(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)", _pinv,
    {"self": pinv_vjp, "atol": None, "rtol": None}, node="LinalgPinvBackward0", batch=LEADING,
    non_differentiable=("atol", "rtol"), shows="hermitian",
)  # fmt: skip


def pinv(self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudoinverse, where singular values up to `atol` or `rtol` times the largest count as zero."""
    if self.dim() < 2 or self.dtype not in INEXACT or self.dtype in dt.WIDE:
        raise RuntimeError(
            f"linalg.pinv({self.dtype.legacy}{{{list(self.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    found = _tolerances("pinv", self, atol, rtol, hermitian)
    if not self.numel():
        found = _tolerances("pinv", self, None, None, hermitian)
    return pseudoinverse.apply(*found, hermitian)


def _public_pinv(self: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """The same, whose last step is a product to autocast."""
    made, autocast = pinv(self, atol, rtol, hermitian), local.state.mode.autocast
    return made if autocast is None else autocast.cast("matmul", (made,))[0]


_TOLERANCES = [f"*, {kind}? atol=None, {kind}? rtol=None, bool hermitian=False" for kind in ("Tensor", "float")]
offer_op(
    *[Composite(f"linalg_pinv(Tensor self, {options})", _public_pinv) for options in _TOLERANCES],
    Composite(
        "linalg_pinv(Tensor self, Operand rcond, bool hermitian=False)",
        lambda self, rcond, hermitian: _public_pinv(self, 0.0, rcond, hermitian),
    ),
)
publish_python("pinverse(Tensor self, float rcond=1e-15)", lambda self, rcond: pinv(self, 0.0, rcond))

# ---- the rank


def _matrix_rank(xp: Namespace, a: Array, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if hermitian:
        sizes = xp.absolute(xp.linalg.eigvalsh(a))
    else:
        sizes = converging(xp, lambda m: xp.linalg.svd(m, compute_uv=False), a, "linalg.svd", _NOT_CONVERGING)
    return _significant(xp, a, sizes, atol, rtol).sum(-1)


_rank_op = Op(
    "_linalg_matrix_rank(Tensor self, Tensor? atol, Tensor? rtol, bool hermitian)", _matrix_rank, batch=LEADING
)


def _rank_shown(self: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """The rank in the operations that a dispatch mode sees."""
    where = {"layout": strided, "device": self.device}
    functions["empty"]((), dtype=dt.int64, **where)
    if atol is None and rtol is None:
        least = functions["zeros"]((), dtype=dt.float64, **where)
        share = functions["full"]((), _usual_tolerance(self), dtype=dt.float64, **where)
    else:
        _, least, share = _tolerances("matrix_rank", self, atol, rtol, hermitian)
    if hermitian:
        sizes = linalg["eigvalsh"](self).abs()
        most = sizes.amax(-1, True)
    else:
        sizes = linalg["svdvals"](self)
        most = slice_.apply(sizes, -1, 0, 1, 1)
    share = share.unsqueeze(-1) * most
    return (sizes > least.unsqueeze(-1).maximum(share)).sum(-1)


def matrix_rank(self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values count as more than zero."""
    check_matrices("torch.linalg.matrix_rank", self, "input")
    if is_watched() and (atol is rtol is None or _are_numbers(atol, rtol)):
        return _rank_shown(self, atol, rtol, hermitian)
    return _rank_op.apply(*_tolerances("matrix_rank", self, atol, rtol, hermitian), hermitian)


offer_op(
    *[Composite(f"linalg_matrix_rank(Tensor self, {options})", matrix_rank) for options in _TOLERANCES],
    Composite(
        "linalg_matrix_rank(Tensor self, Operand tol, bool hermitian=False)",
        lambda self, tol, hermitian: matrix_rank(self, tol, 0.0, hermitian),
    ),
)

# ---- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq(
    xp: Namespace, a: Array, b: Array, vectors: bool, rcond: float | None, driver: str | None
) -> tuple[Any, Any, Any, Any]:
    driver = driver or "gelsy"
    b = b[..., None] if vectors else b
    (m, n), batch, width = a.shape[-2:], a.shape[:-2], b.shape[-1]
    u, values, vh = _decomposed(xp, a) if a.size else (a[..., :0], xp.zeros((*batch, 0), a.real.dtype), a[..., :0, :])
    share = 0.0 if driver == "gels" else _usual_tolerance(a) if rcond is None else rcond
    kept = _significant(xp, a, values, None, xp.full(batch, share, values.dtype))
    scaled = xp.matmul(adjoint(u), b) * xp.where(kept, 1 / xp.where(kept, values, 1), 0)[..., None]
    solution = xp.zeros((*batch, width, max(m, n)), a.dtype).swapaxes(-1, -2)[..., :n, :]
    solution[...] = xp.matmul(adjoint(vh), scaled)
    rank, residuals = kept.sum(-1), xp.empty((0,), values.dtype)
    if driver != "gelsy" and m > n and (driver == "gels" or bool((rank == n).all())):
        residuals = (xp.absolute(xp.matmul(a, solution) - b) ** 2).sum(-2)
    if driver == "gels":
        rank = xp.empty((0,), "int64")
    if driver in ("gels", "gelsy"):
        values = xp.empty((0,), values.dtype)
    elif not a.size:
        values = xp.zeros((*batch, min(m, n)), values.dtype)
    return solution[..., 0] if vectors else solution, residuals, rank, values


def _lstsq_vjp(
    grads: Sequence[Tensor | None], self: Tensor, b: Tensor, solution: Tensor, vectors: bool
) -> tuple[Tensor, Tensor]:
    g, g_residuals = grads[:2]
    if vectors:
        g, b, solution = None if g is None else g.unsqueeze(-1), b.unsqueeze(-1), solution.unsqueeze(-1)
    parts: list[tuple[Tensor, Tensor]] = []
    if g is not None:
        inverse = pinv(self)
        parts.append((pinv_vjp(g.matmul(H(b)), self, inverse), H(inverse).matmul(g)))
    if g_residuals is not None and g_residuals.numel():
        off = 2 * (self.matmul(solution) - b) * g_residuals.unsqueeze(-2)  # the solution is where they are least
        parts.append((off.matmul(H(solution)), -off))
    if not parts:
        parts.append((self.new_zeros(self.shape), b.new_zeros(b.shape)))
    g_self, g_b = [sum(grads[1:], grads[0]) for grads in zip(*parts)]
    return g_self, g_b.squeeze(-1) if vectors else g_b


def _lstsq_of_batch(self: Tensor, b: Tensor, vectors: bool, rcond: Any, driver: Any) -> tuple[Tensor, ...]:
    missing = b.dim() + vectors - self.dim()
    size = (b if missing > 0 else self).shape[0]
    if missing > 0:
        self = self.expand((size, *self.shape))
    elif missing < 0:
        b = b.expand((size, *b.shape))
    results = _least_squares.apply(self, b, vectors, rcond, driver)
    return tuple([r.expand((size, 0)) if r.shape == (0,) else r for r in results])  # those that are left out


_least_squares = Op(
    "_linalg_lstsq(Tensor self, Tensor b, bool vectors, float? rcond, str? driver) "
    "-> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    _lstsq, _lstsq_vjp, node="LinalgLstsqBackward0", differentiable=2,
    batch=Leading(call=_lstsq_of_batch),
    seen_as=lambda self, b, vectors, *more: ("linalg_lstsq", (self, b, *more)),
)  # fmt: skip
_SOLUTION = return_type("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


@offered("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)")
def lstsq(self: Tensor, b: Tensor, rcond: float | None, driver: str | None) -> Any:
    """The X for which the distance of AX from B is least, and among several such the smallest."""
    name = "torch.linalg.lstsq"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {self.dtype.legacy} and "
            f"other's dtype {b.dtype.legacy}"
        )
    vectors = self.dim() - b.dim()
    if not 0 <= vectors <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    right = b.unsqueeze(-1) if vectors else b
    batch = broadcast_shapes(self._array.shape[:-2], right._array.shape[:-2])
    if self.shape[-2] != right.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vectors else -2})")
    if driver not in (None, *_DRIVERS):
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    if rcond is None:
        _check_precise(self.dtype)
    A, b = spread(self, (*batch, *self.shape[-2:])), spread(b, (*batch, *b.shape[vectors - 2 :]))
    return _SOLUTION(_least_squares.apply(A, b, bool(vectors), rcond, driver))


describe(
    linalg_matrix_rank="The rank of a matrix: how many of its singular values are above a tolerance.",
    pinverse="The pseudoinverse of a matrix.",
    linalg_pinv="The pseudoinverse of a matrix, by its singular values or, if `hermitian`, its eigenvalues.",
)
