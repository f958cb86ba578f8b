"""What there is of an inverse for any matrix: the pseudoinverse, least squares, the rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Composite, Op, describe, publish_python
from ...core.machine import LEADING, Leading, Tensor, TensorBase
from ...core.state import local
from ...core.values import Array, Namespace, broadcast_shapes, dt, return_type, strided
from ..products.matmul import H
from ..vocabulary import INEXACT
from .base import adjoint, check_matrices, check_square, converging, offer_op, offered, spread

_NOT_CONVERGING = "The algorithm failed to converge because the input matrix contained non-finite values."


def _decomposed(xp: Namespace, a: Array) -> tuple[Any, Any, Any]:
    return converging(xp, lambda m: xp.linalg.svd(m, full_matrices=False), a, "linalg.svd", _NOT_CONVERGING)


def _epsilon(d: dt.dtype) -> float:
    if d not in INEXACT or d in dt.WIDE:
        raise RuntimeError("This function doesn't handle types other than float and double")
    return dt.finfo(d.to_real()).eps


# ---- how small a singular value counts as zero


def tolerances(name: str, A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    """`A`, and the absolute and the relative tolerance, as tensors of one batch."""
    for called, t in (("atol", atol), ("rtol", rtol)):
        if isinstance(t, TensorBase) and t.is_complex():
            raise RuntimeError(
                f"torch.linalg.{name}: {called} tensor of complex type is not supported. Got {t.dtype.legacy}"
            )
    default = _epsilon(A.dtype) * max(A.shape[-2:])
    real = A.dtype.to_real()
    absolute, relative = [
        t.to(real) if isinstance(t, TensorBase) else A.new_full((), t or 0.0, dtype=real, layout=strided)
        for t in (atol, rtol)
    ]
    if rtol is None:
        relative = (absolute <= 0).to(real) * default
    if hermitian:
        check_square("linalg.eigh", A)
    batch = broadcast_shapes(A.array.shape[:-2], absolute.array.shape, relative.array.shape)
    return spread(A, (*batch, *A.shape[-2:])), absolute.expand(batch), relative.expand(batch)


def _significant(xp: Namespace, sizes: Array, atol: Any, rtol: Any) -> Any:
    if not sizes.shape[-1]:
        return sizes > 0
    return sizes > xp.maximum(atol, rtol * sizes.max(-1))[..., None]


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
    kept = _significant(xp, xp.absolute(values), atol, rtol)
    inverse = xp.where(kept, 1 / xp.where(kept, values, 1), 0)
    return xp.matmul(right * inverse[..., None, :], adjoint(left))


def pinv_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """From d(A⁺) = -A⁺ dA A⁺ + A⁺A⁺ᴴ dAᴴ (1 - AA⁺) + (1 - A⁺A) dAᴴ A⁺ᴴA⁺."""
    adjoint, turned = H(result), H(g)
    made = -H(result.matmul(turned).matmul(result))
    first = turned.matmul(result).matmul(adjoint)
    second = adjoint.matmul(result.matmul(turned))
    made = made + first - self.matmul(result).matmul(first)
    return made + second - second.matmul(result.matmul(self))


pseudoinverse = Op(
    "_linalg_pinv(Tensor self, Tensor atol, Tensor rtol, bool hermitian)", _pinv,
    {"self": pinv_vjp, "atol": None, "rtol": None}, node="LinalgPinvBackward0", batch=LEADING,
    non_differentiable=("atol", "rtol"),
)  # fmt: skip


def pinv(self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudoinverse, where singular values up to `atol` or `rtol` times the largest count as zero."""
    if self.dim() < 2 or self.dtype not in INEXACT or self.dtype in dt.WIDE:
        raise RuntimeError(
            f"linalg.pinv({self.dtype.legacy}{{{list(self.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    found = tolerances("pinv", self, atol, rtol, hermitian)
    if not self.numel():
        found = tolerances("pinv", self, None, None, hermitian)
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
    return _significant(xp, sizes, atol, rtol).sum(-1)


_rank_op = Op("_linalg_matrix_rank(Tensor self, Tensor atol, Tensor rtol, bool hermitian)", _matrix_rank, batch=LEADING)


def matrix_rank(self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values count as more than zero."""
    check_matrices("torch.linalg.matrix_rank", self, "input")
    return _rank_op.apply(*tolerances("matrix_rank", self, atol, rtol, hermitian), hermitian)


offer_op(
    *[Composite(f"linalg_matrix_rank(Tensor self, {options})", matrix_rank) for options in _TOLERANCES],
    Composite(
        "linalg_matrix_rank(Tensor self, Operand tol, bool hermitian=False)",
        lambda self, tol, hermitian: matrix_rank(self, tol, 0.0, hermitian),
    ),
)

# ---- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq(xp: Namespace, a: Array, b: Array, vectors: bool, rcond: float, driver: str) -> tuple[Any, Any, Any, Any]:
    b = b[..., None] if vectors else b
    (m, n), batch, width = a.shape[-2:], a.shape[:-2], b.shape[-1]
    u, values, vh = _decomposed(xp, a) if a.size else (a[..., :0], xp.zeros((*batch, 0), a.real.dtype), a[..., :0, :])
    kept = _significant(xp, values, 0, xp.full(batch, 0.0 if driver == "gels" else rcond, values.dtype))
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
    g_self, g_b = self.new_zeros(self.shape), b.new_zeros(b.shape)
    if g is not None:
        inverse = pinv(self)
        g_b = H(inverse).matmul(g)
        g_self = pinv_vjp(g.matmul(H(b)), self, inverse)
    if g_residuals is not None and g_residuals.numel():
        off = 2 * (self.matmul(solution) - b) * g_residuals.unsqueeze(-2)  # the solution is where they are least
        g_self = g_self + off.matmul(H(solution))
        g_b = g_b - off
    return g_self, g_b.squeeze(-1) if vectors else g_b


def _lstsq_of_batch(self: Tensor, b: Tensor, vectors: bool, rcond: float, driver: str) -> tuple[Tensor, ...]:
    missing = b.dim() + vectors - self.dim()
    size = (b if missing > 0 else self).shape[0]
    if missing > 0:
        self = self.expand((size, *self.shape))
    elif missing < 0:
        b = b.expand((size, *b.shape))
    results = _least_squares.apply(self, b, vectors, rcond, driver)
    return tuple([r.expand((size, 0)) if r.shape == (0,) else r for r in results])  # those that are left out


_least_squares = Op(
    "_linalg_lstsq(Tensor self, Tensor b, bool vectors, float rcond, str driver) "
    "-> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    _lstsq, _lstsq_vjp, node="LinalgLstsqBackward0",
    batch=Leading(call=_lstsq_of_batch),
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
    batch = broadcast_shapes(self.array.shape[:-2], right.array.shape[:-2])
    if self.shape[-2] != right.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vectors else -2})")
    driver = driver or "gelsy"
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    if rcond is None:
        rcond = _epsilon(self.dtype) * max(self.shape[-2:])
    A, b = spread(self, (*batch, *self.shape[-2:])), spread(b, (*batch, *b.shape[vectors - 2 :]))
    solution, residuals, rank, values = _least_squares.apply(A, b, bool(vectors), rcond, driver)
    return _SOLUTION((solution, residuals, rank, values.detach()))


describe(
    linalg_matrix_rank="The rank of a matrix: how many of its singular values are above a tolerance.",
    pinverse="The pseudoinverse of a matrix.",
    linalg_pinv="The pseudoinverse of a matrix, by its singular values or, if `hermitian`, its eigenvalues.",
)
