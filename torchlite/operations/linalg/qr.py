"""An orthogonal matrix times a triangle, and products of the reflections that make it one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.declare import conj, describe, publish, publish_python, published
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Namespace, dt, not_implemented_for, return_type, warn_once
from ..formulas import tensors
from ..products.exact import Exact
from ..products.matmul import H, into_exactly
from ..vocabulary import INEXACT, undifferentiable
from .base import ByColumns, adjoint, any_matrices, check_kernel, columns, into_laid, offer, offer_op
from .triangular import triangular


def _check_qr(A: Tensor, mode: str) -> None:
    any_matrices("linalg.qr", "geqrf_cpu")(A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )


def _qr(xp: Namespace, a: Array, mode: str) -> tuple[Any, ...]:
    if mode == "r":
        return xp.empty((0,), a.dtype), columns(xp, xp.linalg.qr(a, mode="r"))
    q, r = xp.linalg.qr(a, mode=mode)
    return columns(xp, q), columns(xp, r)


def _qr_vjp(grads: Sequence[Tensor | None], A_shape: Sequence[int], mode: str, Q: Tensor, R: Tensor) -> Tensor:
    (m, n), (g_q, g_r) = A_shape[-2:], grads
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols, so gradients cannot "
            "be computed. Please use mode='reduced' instead."
        )
    if m >= n:
        return _qr_vjp_tall(g_q, g_r, Q, R)
    g_q = Q.new_zeros(Q.shape) if g_q is None else g_q
    g_r = R.new_zeros(R.shape) if g_r is None else g_r
    # A = [X Y] and R = [U V]: X = QU is a factorisation of a square matrix, and Y = QV.
    g_v = g_r[..., m:]
    g_x = _qr_vjp_tall(g_q + Q.matmul(R[..., m:].matmul(H(g_v))), g_r[..., :m], Q, R[..., :m])
    return tensors.cat((g_x, Q.matmul(g_v)), -1)


def _qr_vjp_tall(g_q: Tensor | None, g_r: Tensor | None, Q: Tensor, R: Tensor) -> Tensor:
    parts = [] if g_r is None else [g_r.matmul(H(R))]
    parts += [] if g_q is None else [-H(Q).matmul(g_q)]
    upper = sum(parts[1:], parts[0]).triu()
    symmetric = upper + H(upper)
    symmetric.diagonal(0, -2, -1).mul_(0.5)
    made = Q.matmul(symmetric)
    made = made if g_q is None else g_q + made
    return triangular.apply(H(R), made, False, False, False)


qr = ByColumns(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', _qr, {"A": _qr_vjp}, check=_check_qr,
    batch=LEADING, shows="mode",
)  # fmt: skip
offer_op(qr)


_FACTORS = return_type("qr", ("Q", "R"))


@published("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", into=into_exactly)
def old_qr(self: Tensor, some: bool) -> Any:
    """`linalg.qr`, as it was called before."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe "
        "boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould "
        "be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return _FACTORS(qr.apply(self, "reduced" if some else "complete"))


# ---- reflections


def _geqrf(xp: Namespace, a: Array) -> tuple[Any, ...]:
    reflections, tau = xp.linalg.qr(a, mode="raw")
    return columns(xp, reflections.swapaxes(-2, -1).astype(a.dtype)), tau.astype(a.dtype)


def _check_geqrf(self: Tensor) -> None:
    if self.dim() < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if self.dtype not in INEXACT or self.dtype in dt.WIDE:
        raise not_implemented_for("geqrf_cpu", self.dtype)


geqrf = ByColumns(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)", _geqrf,
    {"self": undifferentiable("the derivative for 'geqrf' is not implemented.", NotImplementedError)},
    check=_check_geqrf, batch=LEADING, complex_gradients=False,
)  # fmt: skip
publish(geqrf)


def _steps(v: Any, tau: Any, x: Any, adjointly: bool) -> Iterator[tuple[int, Any, Any, Any]]:
    """The reflections 1 - t v vᴴ in the order they are applied to `x`: their numbers, v, t, and what `x` has become."""
    order = range(tau.shape[-1])
    for i in order if adjointly else reversed(order):
        column, t = v[..., i : i + 1], tau[..., i, None, None]
        t = t.conj() if adjointly else t
        yield i, column, t, x
        x = x - t * (column @ (adjoint(column) @ x))
    yield -1, None, None, x


def _product(xp: Namespace, a: Array, tau: Any, other: Any, left: bool, adjointly: bool) -> Any:
    if other is None:
        other = xp.broadcast_to(xp.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    if not left:  # XQ is the adjoint of QᴴXᴴ
        return columns(xp, adjoint(_product(xp, a, tau, adjoint(other), True, not adjointly)))
    *_, (_, _, _, result) = _steps(xp.tril(a, -1) + xp.eye(*a.shape[-2:], dtype=a.dtype), tau, other, adjointly)
    return columns(xp, result)


def _by_columns(t: Tensor) -> Tensor:
    return t.mT.contiguous().mT


def _product_vjp(
    g: Tensor, self: Tensor, tau: Tensor, other: Tensor, left: bool, adjointly: bool
) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """From d(Hx) = -(dt v vᴴ + t dv vᴴ + t v dvᴴ) x + H dx for every reflection, the last one first."""
    if not left:
        g_self, g_tau, g_other = _product_vjp(H(g), self, tau, H(other), True, not adjointly)
        return g_self, g_tau, _by_columns(H(g_other))
    if not self._array.size or not tau._array.size:
        return None, None, g
    one = tensors.eye(*self.shape[-2:], dtype=self.dtype, device=self.device)
    other = one.expand(self.shape) if other is None else other
    *steps, _ = _steps(self.tril(-1) + one, tau, other, adjointly)
    of_v, of_t = [self[..., i : i + 1] * 0 for i in range(self.shape[-1])], [*tau.unbind(-1)]
    for i, v, t, x in reversed(steps):
        along, within = H(g).matmul(v), H(x).matmul(v)
        of_v[i] = -(conj(t) * g.matmul(within) + t * x.matmul(along))
        of_t[i] = -H(along).matmul(within)[..., 0, 0]
        g = g - conj(t) * v.matmul(H(along))
    g_self = tensors.cat(of_v, -1).tril(-1)
    g_tau = tensors.stack(of_t, -1)
    g_tau = conj(g_tau) if adjointly else g_tau
    # Each lies as PyTorch's: the first two as what they are of, the last as LAPACK leaves it.
    return tensors.zeros_like(self) + g_self, tensors.zeros_like(tau) + g_tau, _by_columns(g)


_householder, _ormqr = [
    Exact(
        f"{name}(Tensor self, Tensor tau, Tensor{optional} other, bool left=True, bool adjointly=False)",
        _product, _product_vjp, node=node, batch=LEADING, seen_as=seen,
    )
    for name, node, optional, seen in (
        (
            "_householder", "LinalgHouseholderProductBackward0", "?",
            lambda self, tau, *_: ("linalg_householder_product", (self, tau)),
        ),
        ("_ormqr", "OrmqrBackward0", "", None),
    )
]  # fmt: skip


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections whose vectors stand below the diagonal of `input`."""
    name = "torch.linalg.householder_product"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_tau(name, input, tau)
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.legacy} does not match input dtype {input.dtype.legacy}")
    check_kernel("orgqr_cpu", input)
    return _householder.apply(input, tau, None, True, False)


def _check_tau(name: str, input: Tensor, tau: Tensor) -> None:
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and "
            f"input.ndim is equal to {input.dim()}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


@published("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)", into=into_exactly)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> Tensor:
    """The product of the reflections in `input`, or its adjoint, times `other`, or `other` times it."""
    name = "torch.ormqr"
    side = -2 if left else -1
    for called, t in (("input", input), ("other", other)):
        if t.dim() < 2:
            raise RuntimeError(f"{name}: {called} must have at least 2 dimensions.")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    _check_tau(name, input, tau)
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other.shape[:-2])}"
        )
    for called, t in (("tau", tau), ("other", other)):
        if t.dtype is not input.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {called} to have the same dtype, but input has dtype{input.dtype.legacy} "
                f"and {called} has dtype {t.dtype.legacy}"
            )
    check_kernel("ormqr_cpu", input)
    return _ormqr.apply(input, tau, other, left, transpose)


offer("linalg_householder_product(Tensor input, Tensor tau)", householder_product, into=into_laid)
publish_python("orgqr(Tensor self, Tensor input2)", householder_product, into=into_laid)


describe(
    linalg_qr="Factors of a matrix, orthonormal columns `Q` and an upper triangle `R`; `mode` says how many columns.",
    geqrf="The QR decomposition in LAPACK's own form, reflectors and their factors: `(a, tau)`.",
    qr="Factors of a matrix: orthonormal columns `Q` and an upper triangle `R`.",
)
