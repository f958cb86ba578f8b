"""Distances between pairs of vectors, and between all vectors of a set; and the losses made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.declare import Op, publish_loss, published
from ...core.machine import Tensor, result_type
from ...core.native import in_c
from ...core.state import local, silent
from ...core.values import Array, Namespace, broadcast_shapes, dt, not_implemented_for
from ...core.values.layout import contiguous_format
from ..formulas import tensors
from ..learning.losses import MEAN, reduced
from ..reductions.vector_norms import array_norm, count_apart, norm_along, vector_norm

# ---- of pairs


@published("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    """The cosine of the angle between vectors along `dim`; norms count for at least `eps`."""
    common = result_type(x1, x2)
    if common not in dt.FLOATS:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.legacy}")
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    wide = [t.to(common) for t in (x1, x2)]
    first, second = [t if t.shape == shape else t.expand(shape) for t in wide]
    norms = [vector_norm.apply(t, 2, (dim,), True, None).clone() for t in (first, second)]
    least = tensors.scalar_tensor(eps, dtype=common, device=first.device)
    for norm in norms:
        local.state.within(silent(local.state.mode), norm.clamp_min_, least)  # gradients pass this by
    by_second = second / norms[1]
    return (first / norms[0] * by_second).sum(dim)


@published("pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False)", method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of the differences, to which `eps` is added, along the last dimension."""
    apart = x1 - x2 + eps
    return norm_along.apply(apart, p, (apart.dim() - 1,), keepdim)


# ---- between all vectors of a set


def distance(xp: Namespace, difference: Any, p: float) -> Any:
    """The `p`-norm of differences along the last dimension, of arrays or tensors."""
    if p == 0:
        return count_apart(xp, difference)
    if xp is tensors:
        return vector_norm.apply(difference, p, (-1,), False, None)
    return array_norm(xp, difference, -1, False, p)


def slope(difference: Tensor, distance: Tensor, p: float) -> Tensor:
    """The derivative of a distance: zero where that is zero, and NaN where infinity is divided by infinity."""
    if p == 0:
        return tensors.zeros_like(difference)
    sign = difference.sign().masked_fill(difference.isnan(), math.nan)
    if p == 1:
        return sign
    if p == math.inf:  # unlike a norm's, all of it goes to each that is as large
        beyond = difference.abs() - distance
        return sign * (beyond == 0).to(sign.dtype).masked_fill(beyond.isnan(), math.nan)
    away = distance != 0
    distance = tensors.where(away, distance, 1)
    if p == 2:
        return tensors.where(away, difference / distance, 0)
    there = difference != 0
    share = tensors.where(there, difference.abs(), 1) / distance
    kept = away & (there | distance.isnan()) if p > 1 else away & there
    return tensors.where(kept, sign * share ** (p - 1), 0)


def _check_kind(label: str) -> Any:
    def check(first: Tensor, *_: Any) -> None:
        if first.dtype not in (dt.float32, dt.float64):
            raise not_implemented_for(label, first.dtype)

    return check


_distances = in_c("linalg_vector_norm", lambda difference, axis, keepdim, p: distance(np, difference, p))
_MANY = 2**16  # numbers that all differences are, from which on those of one vector at a time stay in the cache


def _pdist(xp: Namespace, self: Array, p: float) -> Array:
    n, size = self.shape
    if not size:
        return xp.zeros(n * (n - 1) // 2, self.dtype)
    if xp.ndarray is np.ndarray and n * n * size > _MANY:
        rows = [_distances(self[i + 1 :] - self[i], -1, False, p) for i in range(n - 1)]
        return xp.concatenate(rows, dtype=self.dtype)
    first, second = xp.triu_indices(n, 1)
    return distance(xp, self[first] - self[second], p).astype(self.dtype, copy=False)


def _differences(self: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first, second = tensors.triu_indices(self.shape[0], self.shape[0], 1, device=self.device).unbind(0)
    return self.index_select(0, first) - self.index_select(0, second), first, second


def _pdist_vjp(g: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    difference, first, second = _differences(self)
    through = g.unsqueeze(-1) * slope(difference, result.unsqueeze(-1), p)
    return tensors.zeros_like(self).index_add(0, first, through).index_add(0, second, -through)


pdist_forward = Op(
    "_pdist_forward(Tensor self, float p=2.0)", _pdist, {"self": _pdist_vjp}, node="PdistBackward0",
    check=_check_kind("pdist"), batch=lambda self, p: distance(tensors, _differences(self)[0], p).to(self.dtype),
)  # fmt: skip


@published("pdist(Tensor self, float p=2.0)", method=False)
def pdist(self: Tensor, p: float) -> Tensor:
    """The distances between all pairs of rows, as the part of `cdist` above its diagonal."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pdist_forward.apply(self.contiguous(), p)


# ---- losses

_SMALLEST = float(np.float32(1e-12))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """One less the cosine where the target is 1, and what it has above the margin where that is -1."""
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = target.dim() + 1
    if input1.dim() != wanted or input2.dim() != wanted:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {wanted}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    dim = target.dim()
    products = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + _SMALLEST) * ((input2 * input2).sum(dim) + _SMALLEST)
    cosine = products / squares.sqrt_()
    zeros = tensors.zeros_like(cosine, memory_format=contiguous_format)
    near, far = 1 - cosine, (cosine - margin).clamp_min_(0)
    near = tensors.where(target == 1, near, zeros)
    return reduced(near + tensors.where(target == -1, far, zeros), reduction)


publish_loss(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1)",
    cosine_embedding_loss,
)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Tensor:
    """How much nearer than the margin the negative is to the anchor than the positive."""
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = tensors.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


publish_loss(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, "
    "float eps=1e-06, bool swap=False, int reduction=1)",
    triplet_margin_loss,
)
