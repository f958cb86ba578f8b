"""Norms of vectors, and what is measured with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.declare import Op, Reduction, all_dims, conj, describe, fit_gradient, publish, published, reduced_count
from ...core.machine import Tensor, result_type
from ...core.state import local
from ...core.values import Array, Backend, Namespace, broadcast_shapes, dt, wrap_dim
from ...kernels.summing import add_reduce, widened
from .in_one_kernel import in_one_kernel

# ---- the norm of a vector


def _check_norm(t: Tensor, ord: Any, dim: Any, keepdim: bool, d: dt.dtype | None) -> None:
    name = "linalg.vector_norm"
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {t.dtype.legacy}")
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if d is not None:
        check_norm_dtype(name, t, d)


def check_norm_dtype(name: str, t: Tensor, d: dt.dtype) -> None:
    """Whether a norm of `t` can be computed in another dtype."""
    if d.category < dt.FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {d.legacy}")
    if d.is_complex is not t.dtype.is_complex:
        kind = "complex" if t.dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {d.legacy}")
    if dt.promote_types(d, t.dtype) is not d:
        raise RuntimeError(
            f"{name}: the dtype of the input ({t.dtype.legacy}) should be convertible without narrowing to the "
            f"specified dtype ({d.legacy})"
        )


def array_norm(xp: Namespace, array: Array, axis: Any, keepdim: bool, ord: float) -> Any:
    if not array.size and (ord < 0 or ord == math.inf):
        _check_identity(array, axis, ord)
    if ord and reduced_count(array, axis) == 1:
        ord = 1  # the norm of a number is its size, whatever the order
    if ord == 2 and array.dtype.kind != "c":
        if axis is None and not keepdim and array.flags.c_contiguous:
            flat = array.reshape(-1)
            return xp.sqrt(flat.dot(flat))
        return xp.sqrt(add_reduce(xp, array * array, axis, keepdim))
    if ord == 0:
        return add_reduce(xp, array != 0, axis, keepdim)
    size = xp.absolute(array)
    if ord == 1 or size.ndim == 0:
        return add_reduce(xp, size, axis, keepdim)
    if ord == 2:
        return xp.sqrt(add_reduce(xp, size * size, axis, keepdim))
    if abs(ord) == math.inf:
        return size.max(axis, keepdims=keepdim) if ord > 0 else size.min(axis, keepdims=keepdim)
    if abs(ord) < 1:
        return add_reduce(xp, size**ord, axis, keepdim) ** (1 / ord)
    scale = _scale(xp, size, axis, ord)
    total = add_reduce(xp, (size / scale) ** ord, axis, keepdim) ** (1 / ord)
    return total * (scale if keepdim else scale.reshape(total.shape))


def _scale(xp: Namespace, size: Any, axis: Any, ord: float) -> Any:
    """The element that decides the norm. Powers of what it is divided out of neither overflow nor vanish."""
    if not size.size:
        return add_reduce(xp, size, axis, True) + 1
    most = size.max(axis, keepdims=True) if ord > 0 else size.min(axis, keepdims=True)
    return xp.where(xp.isfinite(most) & (most != 0), most, most.dtype.type(1))


def _check_identity(array: Array, axis: Any, ord: float) -> None:
    shown = "inf" if ord == math.inf else "-inf" if ord == -math.inf else f"{ord:g}"
    why = "because the operation does not have an identity"
    if axis is None or not array.ndim:
        raise RuntimeError(f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor {why}")
    for a in all_dims(array, axis):
        if not array.shape[a]:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {a}because this dimension is "
                "empty and the operation does not have an identity"
            )


def largest_known(xp: Namespace, differences: Any) -> Any:
    """The largest size along the last dimension, without NaN: so `cdist` of infinite order sees it."""
    sizes = xp.abs(differences)
    return xp.where(xp.isnan(sizes), 0, sizes).max(-1)


def count_apart(xp: Namespace, difference: Any) -> Any:
    """How many elements differ, along the last dimension, of arrays or tensors; NaN where that cannot be told."""
    return xp.clip(xp.ceil(abs(difference)), 0, 1).sum(-1)


def norm_vjp(g: Tensor, self: Tensor, result: Tensor, ord: float, dim: Any) -> Tensor | None:
    """The gradient of a norm whose dimensions were kept; zero where the norm is zero, none for a count."""
    if ord == 0:
        return None
    if ord == 1:
        return self.sgn() * g
    if ord == 2:
        return g * (self / result).masked_fill_(result == 0, 0)
    size = self.abs()
    if abs(ord) == math.inf:
        chosen = (size == result).logical_or(size.isnan())
        shares = g / chosen.sum(() if dim is None else dim, True) * chosen
        return self.sgn() * shares
    share = size / result.masked_fill(result == 0, 1)  # whose powers do not overflow where the norm's could
    if ord < -2:
        return self.sgn() * share.pow(ord - 1).masked_fill(result == 0, 0) * g
    if ord < 1:
        return self.sgn() * size.pow(ord - 1).masked_fill(self == 0, 0) * g * result.pow(1 - ord)
    if ord < 2:
        return self.sgn() * size.pow(ord - 1) * (g / result.pow(ord - 1)).masked_fill(result == 0, 0)
    return self * share.pow(ord - 2) * (g / result).masked_fill(result == 0, 0)


_SLOPES: dict[float, Callable[..., Any]] = {
    1: lambda xp, g, self, result: g * xp.sign(self),
    2: lambda xp, g, self, result: g * xp.where(result == 0, result, self / result),
}


def _norm_gradient(
    follow: Any, backend: Backend, g: Array, shape: Any, axes: Any, self: Array, result: Array, ord: float
) -> Any:  # fmt: skip
    slope = _SLOPES.get(ord)
    return None if slope is None else follow(slope, backend.xp, g, self, result)


# The first is that of linear algebra, which no sparse tensor has; the second is what `norm` calls for those.
vector_norm, norm_of_sparse = [
    Reduction(
        f"{name}(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
        array_norm, norm_vjp, result="real", check_form=_check_norm, exact_out=True, node=node,
        on_arrays=in_one_kernel(_norm_gradient),
    )
    for name, node in (("linalg_vector_norm", "LinalgVectorNormBackward0"), ("norm", "NormBackward1"))
]  # fmt: skip


norm_along = Reduction(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)",
    lambda xp, array, axis, keepdim, p: array_norm(xp, array, axis, keepdim, 2.0 if p is None else p),
    lambda g, self, result, p, dim: norm_vjp(g, self, result, 2.0 if p is None else p, dim),
    result="real",
    node="NormBackward1",
)


def norm_of_order(input: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The norm of any order that `torch.linalg.vector_norm` takes."""
    return vector_norm.apply(*vector_norm.bind((input, ord, dim, keepdim), {"dtype": dtype}))


# ---- distances and bounds


def _check_dist(t: Tensor, other: Tensor, p: float) -> None:
    if dt.bool_ in (t.dtype, other.dtype):
        t - other  # tells what is wrong with it
    broadcast_shapes(t._array.shape, other._array.shape)
    d = result_type(t, other)
    if isinstance(p, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if d.category < dt.FLOAT:
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {d.legacy} instead.")


def _dist(xp: Namespace, a: Array, b: Array, p: float) -> Array:
    difference = a - b
    real = dt.of_numpy(difference.dtype).to_real().numpy
    if difference.dtype.kind == "W":
        difference = difference.astype(xp.complex64)
    return xp.asarray(array_norm(xp, widened(difference), None, False, p)).astype(real)


def _dist_vjp(g: Tensor, self: Tensor, other: Tensor, result: Tensor, p: float) -> Tensor | None:
    return fit_gradient(norm_vjp(g, self - other, result, p, None), self._array.shape, self.dtype)


def _dist_vjp_other(g: Tensor, self: Tensor, other: Tensor, result: Tensor, p: float) -> Tensor | None:
    through = norm_vjp(g, self - other, result, p, None)
    return None if through is None else fit_gradient(-through, other._array.shape, other.dtype)


dist = Op(
    "dist(Tensor self, Tensor other, Scalar p=2)", _dist, {"self": _dist_vjp, "other": _dist_vjp_other},
    promote=("self", "other"), check=_check_dist,
    batch=lambda self, other, p: vector_norm.apply(self - other, p, None, False, None),
)  # fmt: skip
publish(dist)


def _other_dims(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple([d for d in range(ndim) if d != dim % ndim])


def _check_renorm(t: Tensor, p: float, dim: int, maxnorm: float) -> None:
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {t.dtype.legacy}"
        )
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if t.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {t.dim()} dimensions")
    wrap_dim(dim, t.dim())


_EPSILON = 1e-7  # keeps the scale finite


def _renorm(xp: Namespace, array: Array, p: float, dim: int, maxnorm: float) -> Array:
    wide = array.astype("c16" if array.dtype.kind == "c" else "f8")  # in which squares do not overflow
    size = array_norm(xp, wide, _other_dims(array.ndim, dim), True, p)
    scale = xp.where(size > maxnorm, maxnorm / (size + _EPSILON), 1).astype(array.dtype)
    return xp.multiply(array, scale, xp.empty(array.shape, array.dtype))


def _renorm_vjp(g: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    dims = _other_dims(self.dim(), dim)
    wide = dt.complex128 if self.is_complex() else dt.float64
    size = vector_norm.apply(self, p, dims, True, wide)
    along = (conj(self) * g).sum(dims, True, dtype=wide)
    through_norm = norm_vjp(along.real if along.is_complex() else along, self, size, p, dims)
    inverse = (size + _EPSILON).reciprocal()
    through = g - inverse * through_norm
    return (maxnorm * inverse * through).to(g.dtype).where(size > maxnorm, g)


def _renormed(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    size = vector_norm.apply(self, p, _other_dims(self.dim(), dim), True, None)
    return self * (maxnorm / (size + _EPSILON)).where(size > maxnorm, size.new_ones(()))


renorm = Op(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm)", _renorm, {"self": _renorm_vjp}, check=_check_renorm,
    batch=_renormed,
)  # fmt: skip
publish(renorm, inplace=True)


@published("norm_except_dim(Tensor v, int pow=2, int dim=0)", method=False)
def norm_except_dim(v: Tensor, pow: int, dim: int) -> Tensor:
    """The norms of the slices along `dim`, as a tensor that broadcasts against `v`; of all of it for -1."""
    if v.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {v.dtype.legacy} instead."
        )
    if dim == -1:
        return vector_norm.apply(v, pow, None, False, None)
    v.size(dim)  # which there must be
    if dim not in (0, v.dim() - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    kept = [n if d == dim else 1 for d, n in enumerate(v.shape)]
    rows, summed = ((kept[0], -1), 1) if dim == 0 else ((-1, kept[-1]), 0)
    return norm_along.apply(v.contiguous().view(rows), pow, (summed,), False).view(kept)


def _slice_norms(xp: Namespace, v: Array, dim: int) -> Array:
    axes = tuple(d for d in range(v.ndim) if d != dim)
    return xp.sqrt(add_reduce(xp, v * v, axes, True)) if axes else xp.absolute(v)


def _weight_norm(xp: Namespace, v: Any, g: Array, dim: int) -> tuple[Any, ...]:
    norms = _slice_norms(xp, v, dim)
    return v * (g / norms), norms


def _weight_norm_gradients(xp: Namespace, grad: Any, v: Array, g: Any, norms: Any, dim: int) -> tuple[Any, Any]:
    axes = tuple(d for d in range(v.ndim) if d != dim)
    along = add_reduce(xp, grad * v, axes, True) if axes else grad * v
    return (grad - v * (along / (norms * norms))) * (g / norms), along / norms


def _weight_norm_in_steps(grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    along = (grad * v).sum(_other_dims(v.dim(), dim), True) if v.dim() > 1 else grad * v
    return (grad - v * (along / (norms * norms))) * (g / norms), along / norms


_weight_norm_backward = Op(
    "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) "
    "-> (Tensor result0, Tensor result1)",
    _weight_norm_gradients, batch=_weight_norm_in_steps,
)  # fmt: skip
publish(_weight_norm_backward, method=False)


def _weight_norm_vjp(grads: Any, v: Tensor, g: Tensor, result1: Tensor, dim: int) -> Any:
    """In one step, which has no derivative, where none is asked for."""
    backward = _weight_norm_in_steps if local.state.mode.grad else _weight_norm_backward.apply
    return backward(grads[0].contiguous(), v, g, result1, dim)


weight_norm_interface = Op(
    "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor result0, Tensor result1)",
    _weight_norm, _weight_norm_vjp, differentiable=1,
)  # fmt: skip
publish(weight_norm_interface, method=False)


@published("_weight_norm(Tensor v, Tensor g, int dim=0)", method=False)
def weight_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """`v` with `g` for the norms of its slices along `dim`."""
    if dim in (0, v.dim() - 1) and not v.is_complex():
        return weight_norm_interface.apply(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))


describe(
    dist="The `p`-norm of the difference of two tensors.",
    renorm="Each slice along a dimension scaled down to a `p`-norm of no more than `maxnorm`.",
)
