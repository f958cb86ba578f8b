"""Linear algebra: Cholesky factors, systems of equations, inverses and determinants, of matrices and batches of them.

What `torch.linalg` offers of these stands in `linalg`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.batching import LEADING
from ..core.elementwise import conj
from ..core.errors import broadcast_shapes, not_implemented_for, warn
from ..core.op import Op
from ..core.publish import publish, publish_python
from ..core.return_types import return_type
from .matmul import Exact, H
from .rules import INEXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.tensor import Tensor

linalg: dict[str, Callable[..., Any]] = {}


class _LinAlgError(RuntimeError):
    """A matrix has not the property that its factorisation needs."""


LinAlgError = _LinAlgError
_LOW = frozenset((dt.float16, dt.bfloat16))


def offer(schema: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """Publish a composite as a function of `torch.linalg`."""
    call = publish_python(schema, f, forms="")
    linalg[call.__name__.removeprefix("linalg_")] = call
    return call


def offer_op(op: Op) -> Callable[..., Any]:
    call = publish(op, forms="")
    linalg[op.signature.name.removeprefix("linalg_")] = call
    return call


# ---- what operands must be


def check_matrices(name: str, t: Tensor, called: str = "A") -> None:
    if t.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {called} must have at least 2 dimensions.")


def check_square(name: str, t: Tensor, called: str = "A") -> None:
    check_matrices(name, t, called)
    rows, columns = t.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {called} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_inexact(name: str, t: Tensor, low: bool = False) -> None:
    if t.dtype not in INEXACT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype.legacy}")
    if t.dtype in _LOW and not low:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {t.dtype.legacy}")


def square(name: str, low: str | None = None) -> Callable[..., None]:
    """A check for square matrices of floating-point numbers; `low` names the kernel that refuses the narrow ones."""

    def check(t: Tensor, *_: Any) -> None:
        check_square(name, t)
        check_inexact(name, t, low is not None)
        if t.dtype in _LOW:
            raise not_implemented_for(low or name, t.dtype)

    return check


def _common_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors of matrices with their batches broadcast together."""
    batch = broadcast_shapes(a.array.shape[:-2], b.array.shape[:-2])
    return a.expand(*batch, *a.array.shape[-2:]), b.expand(*batch, *b.array.shape[-2:])


def _check_equation(name: str, a: Tensor, b: Tensor, left: bool) -> None:
    (m, n), (p, q) = a.array.shape[-2:], b.array.shape[-2:]
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype.legacy} and B of type "
            f"{b.dtype.legacy} instead"
        )
    if n != (p if left else q):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({m}x{n} and {p}x{q})")


# ---- kernels


def columns(xp: Any, a: Any) -> Any:
    """The same matrices with their columns contiguous, as LAPACK leaves them."""
    return xp.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)


def _adjoint(a: Any) -> Any:
    return a.swapaxes(-1, -2).conj()


def _one_by_one(xp: Any, a: Any, compute: Callable[..., Any], fault: Callable[[Any], int], *rest: Any) -> Any:
    """`compute` of each matrix, and where it failed a nan with the number that `fault` finds."""
    flat = [m.reshape((-1, *m.shape[-2:])) for m in (a, *rest)]
    results, faults = [], []
    for ms in zip(*flat):
        try:
            results.append(compute(*ms))
            faults.append(0)
        except xp.linalg.LinAlgError:
            results.append(xp.full_like(ms[-1], math.nan))
            faults.append(fault(ms[0]))
    last = (rest or (a,))[-1]
    return xp.stack(results).reshape(last.shape), xp.asarray(faults, dtype="int32").reshape(a.shape[:-2])


def _factored(
    xp: Any, compute: Callable[..., Any], fault: Callable[[Any], int], complaint: str | None, a: Any, *rest: Any
) -> tuple[Any, Any]:
    """`compute(a, *rest)` and, for each matrix, 0 or the number of its fault; or an error that tells the first."""
    try:
        return columns(xp, compute(a, *rest)), xp.zeros(a.shape[:-2], "int32")
    except xp.linalg.LinAlgError:
        made, faults = _one_by_one(xp, a, compute, fault, *rest)
    if complaint is not None:
        numbers = faults.reshape(-1).tolist()
        element = next(i for i, n in enumerate(numbers) if n)
        name, _, text = complaint.partition(": ")
        where = f"(Batch element {element}): " if a.ndim > 2 else ""
        raise LinAlgError(f"{name}: {where}{text.format(numbers[element])}")
    return columns(xp, made), faults


def _cholesky(xp: Any, a: Any, upper: bool, check_errors: bool) -> Any:
    def factor(m: Any) -> Any:
        made = xp.linalg.cholesky(m)
        if xp.isnan(made).any():  # what libraries give that do not raise
            raise xp.linalg.LinAlgError
        return made

    def leading_minor(m: Any) -> int:
        for k in range(1, m.shape[-1] + 1):
            try:
                factor(m[:k, :k])
            except xp.linalg.LinAlgError:
                return k
        return 0

    complaint = (
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order {} is not positive-definite)."
    )
    lower = _adjoint(a) if upper else a
    made, faults = _factored(xp, factor, leading_minor, complaint if check_errors else None, lower)
    return columns(xp, _adjoint(made)) if upper else made, faults


def _dependent_column(xp: Any) -> Callable[[Any], int]:
    """Where elimination meets a zero: at the first column that depends on those before it."""
    return lambda m: next(k for k in range(1, m.shape[-1] + 1) if k == m.shape[-1] or _rank(xp, m[:, :k]) < k)


def _rank(xp: Any, m: Any) -> int:
    return int(xp.linalg.matrix_rank(m).item())


def _inv(xp: Any, a: Any, check_errors: bool) -> Any:
    complaint = (
        "linalg.inv: The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
        "singular."
    )
    return _factored(xp, xp.linalg.inv, _dependent_column(xp), complaint if check_errors else None, a)


def _solve(xp: Any, a: Any, b: Any, check_errors: bool) -> Any:
    complaint = "torch.linalg.solve: The solver failed because the input matrix is singular."
    return _factored(xp, xp.linalg.solve, _dependent_column(xp), complaint if check_errors else None, a, b)


def _solve_triangular(xp: Any, a: Any, b: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    if not left:  # XA = B is AᵀXᵀ = Bᵀ
        turned = _solve_triangular(xp, a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, True, unitriangular)
        return columns(xp, turned.swapaxes(-1, -2))
    x = columns(xp, xp.array(b, dtype=b.dtype))
    _substitute(xp, a, x, upper, unitriangular)
    return x


def _substitute(xp: Any, a: Any, x: Any, upper: bool, unitriangular: bool) -> None:
    """Solve in place: one half of the unknowns, then, with these filled in, the other."""
    n = a.shape[-1]
    if n < 2:
        if n and not unitriangular:
            x /= a
        return
    middle = n // 2
    halves = slice(middle), slice(middle, n)
    first, second = reversed(halves) if upper else halves
    _substitute(xp, a[..., first, first], x[..., first, :], upper, unitriangular)
    x[..., second, :] -= xp.matmul(a[..., second, first], x[..., first, :])
    _substitute(xp, a[..., second, second], x[..., second, :], upper, unitriangular)


# ---- Cholesky's factorisation


def _half_diagonal(t: Tensor) -> Tensor:
    """The lower triangle, with half of the diagonal: what is added to its adjoint to make a Hermitian matrix."""
    return t.tril() - (t.diagonal(0, -2, -1) / 2).diag_embed()


def _cholesky_vjp(g: Tensor, upper: bool, L: Tensor) -> Tensor:
    if upper:
        g, L = H(g), H(L)
    inner = _half_diagonal(H(L).matmul(g))
    made = triangular.apply(L, triangular.apply(H(L), inner, True, True, False), False, False, False)
    return (made + H(made)) / 2


cholesky_ex = Op(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    _cholesky,
    {"self": _cholesky_vjp},
    check=square("linalg.cholesky"),
    batch=LEADING,
)
offer_op(cholesky_ex)


def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """The triangular matrix whose product with its adjoint is a positive-definite one."""
    return cholesky_ex.apply(self, upper, True)[0]


def _old_cholesky(self: Tensor, upper: bool) -> Tensor:
    warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = "
        "torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will "
        "produce equivalent results for all valid (symmetric positive definite) inputs."
    )
    return cholesky(self, upper)


offer("linalg_cholesky(Tensor self, *, bool upper=False)", cholesky)
publish_python("cholesky(Tensor self, bool upper=False)", _old_cholesky)


# ---- triangular systems


def _triangle(t: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    return t.triu(int(unitriangular)) if upper else t.tril(-int(unitriangular))


def _gradient_of_triangle(
    g: Tensor, self: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    solved = triangular.apply(H(self), g, not upper, left, unitriangular)
    return -_triangle(solved.matmul(H(result)) if left else H(result).matmul(solved), upper, unitriangular)


triangular = Op(
    "_linalg_solve_triangular(Tensor self, Tensor B, bool upper, bool left, bool unitriangular)",
    _solve_triangular,
    {
        "self": _gradient_of_triangle,
        "B": lambda g, self, upper, left, unitriangular: triangular.apply(H(self), g, not upper, left, unitriangular),
    },
    node="LinalgSolveTriangularBackward0",
    batch=LEADING,
)


def solve_triangular(self: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The X of AX = B, or XA = B, for a triangular A."""
    name = "linalg.solve_triangular"
    check_square(name, self)
    check_matrices(name, B, "B")
    _check_equation(name, self, B, left)
    check_inexact(name, self)
    return triangular.apply(*_common_batch(self, B), upper, left, unitriangular)


offer(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)",
    solve_triangular,
)


def _check_old_system(name: str, b: Tensor, a: Tensor) -> None:
    for called, t in (("b", b), ("A" if name == "triangular_solve" else "u", a)):
        if t.dim() < 2:
            raise RuntimeError(f"{called} should have at least 2 dimensions, but has {t.dim()} dimensions instead")
    (rows, columns), (p, q) = a.array.shape[-2:], b.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if rows != p:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {rows} by {columns} but each b matrix is {p} by "
            f"{q}"
        )


def triangular_solve(self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    """The X of AX = B for a triangular A, and A."""
    warn(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and will be removed in a "
        "future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a "
        "copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
        "torch.linalg.solve_triangular(A, B)."
    )
    _check_old_system("triangular_solve", self, A)
    A, self = _common_batch(A, self)
    matrix = A.mT if transpose else A
    solution = triangular.apply(matrix, self, upper != transpose, True, unitriangular)
    return return_type("triangular_solve", ("solution", "cloned_coefficient"))((solution, A.clone()))


def _cholesky_solve(xp: Any, b: Any, factor: Any, upper: bool) -> Any:
    other = _adjoint(factor)
    lower, turned = (other, factor) if upper else (factor, other)
    half = _solve_triangular(xp, lower, b, False, True, False)
    return _solve_triangular(xp, turned, half, True, True, False)


def _of_factor(g: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a factor from that of the product of a factor and its adjoint."""
    both = g + H(g)
    return factor.matmul(both) if upper else both.matmul(factor)


_cholesky_solve_op = Op(
    "_cholesky_solve(Tensor self, Tensor input2, bool upper)",
    _cholesky_solve,
    {
        "self": lambda g, input2, upper: _cholesky_solve_op.apply(g, input2, upper),
        "input2": lambda g, input2, result, upper: _of_factor(
            -_cholesky_solve_op.apply(g, input2, upper).matmul(H(result)), input2, upper
        ),
    },
    node="CholeskySolveBackward0",
    batch=LEADING,
)
_cholesky_inverse_op = Op(
    "_cholesky_inverse(Tensor self, bool upper)",
    lambda xp, factor, upper: _cholesky_solve(
        xp, xp.broadcast_to(xp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape), factor, upper
    ),
    {"self": lambda g, self, result, upper: _of_factor(-result.matmul(g).matmul(result), self, upper)},
    node="CholeskyInverseBackward0",
    batch=LEADING,
)


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The X of AX = B, given the Cholesky factor of A."""
    _check_old_system("cholesky_solve", self, input2)
    return _cholesky_solve_op.apply(*_common_batch(self, input2), upper)


def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix, given its Cholesky factor."""
    check_square("cholesky_inverse", self)
    return _cholesky_inverse_op.apply(self, upper)


publish_python(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)",
    triangular_solve,
)
publish_python("cholesky_solve(Tensor self, Tensor input2, bool upper=False)", cholesky_solve)
publish_python("cholesky_inverse(Tensor self, bool upper=False)", cholesky_inverse)


# ---- inverses, systems and determinants

inv_ex = Op(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    _inv,
    {"A": lambda g, inverse: -H(inverse).matmul(g).matmul(H(inverse))},
    check=square("linalg.inv"),
    batch=LEADING,
)
offer_op(inv_ex)


def inv(A: Tensor) -> Tensor:
    """The inverse of a matrix."""
    return inv_ex.apply(A, True)[0]


offer("linalg_inv(Tensor A)", inv)
publish_python("inverse(Tensor self)", inv)


solve_ex = Op(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool check_errors=False) -> (Tensor result, Tensor info)",
    _solve,
    {
        "A": lambda g, A, result: -solve_ex.apply(H(A), g, False)[0].matmul(H(result)),
        "B": lambda g, A: solve_ex.apply(H(A), g, False)[0],
    },
    node="LinalgSolveExBackward0",
    batch=LEADING,
)


def _solved(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    name = "linalg.solve"
    check_square(name, A)
    check_inexact(name, A)
    vectors = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.array.shape == A.array.shape[:-1])
    if vectors and not left:
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False.")
    if vectors:
        B = B.unsqueeze(-1)
    _check_equation(name, A, B, left)
    A, B = _common_batch(A, B)
    result, info = solve_ex.apply(A if left else A.mT, B if left else B.mT, check_errors)
    return (result.squeeze(-1) if vectors else result if left else result.mT), info


def solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """The X of AX = B, or XA = B."""
    return _solved(A, B, left, True)[0]


offer("linalg_solve(Tensor A, Tensor B, *, bool left=True)", solve)

det = Exact(
    "linalg_det(Tensor A)",
    lambda xp, a: xp.linalg.det(a),
    {"A": lambda g, A, result: H(inv(A)) * (g * conj(result))[..., None, None]},
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
    return H(inv(A)) * weight[..., None, None]


_RESULTS = "-> (Tensor sign, Tensor logabsdet)"
slogdet = Op(
    f"linalg_slogdet(Tensor A) {_RESULTS}", lambda xp, a: tuple(xp.linalg.slogdet(a)), {"A": _slogdet_vjp},
    check=square("linalg.slogdet", "lu_cpu"), batch=LEADING,
)  # fmt: skip
_old_slogdet = Op(
    f"slogdet(Tensor self) {_RESULTS}", slogdet.kernel,
    {"self": lambda grads, self, sign: _slogdet_vjp(grads, self, sign)},
    check=slogdet.check, node="LinalgSlogdetBackward0", batch=LEADING,
)  # fmt: skip
offer_op(slogdet)
publish(_old_slogdet)


def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant, which must not be negative."""
    check_square("logdet", self)
    sign, logabsdet = slogdet.apply(self)
    if self.is_complex():
        return sign.log() + logabsdet
    return logabsdet.where(sign != -1, math.nan)


publish_python("logdet(Tensor self)", logdet)
