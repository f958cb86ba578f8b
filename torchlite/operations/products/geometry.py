"""Distances between the points of two sets, and the vector at right angles to two others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, conj, describe, published, published_whole, sum_to
from ...core.machine import BROADCAST, LEADING, Tensor, TensorBase, check_apart
from ...core.state import is_watched
from ...core.values import Array, Namespace, dt, errors, warn_once
from ..reductions.vector_norms import largest_known
from .distances import distance, slope
from .exact import Exact
from .matmul import into_exactly, product, same_dtype

# ---- the cross product


def _check_cross(self: Tensor, other: Tensor, dim: int) -> None:
    a, b = self._array.shape, other._array.shape
    if len(a) != len(b):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = errors.wrap_dim(dim, len(a))
    if a[axis : axis + 1] != (3,) or b[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.size(dim)} and {other.size(dim)}"
        )
    if self.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {self.dtype.legacy} but found {other.dtype.legacy}")
    if self.dtype is dt.bool_:
        raise errors.not_implemented_for("cross", self.dtype)
    errors.broadcast_shapes(a, b)


def _cross(xp: Namespace, self: Array, other: Any, dim: int) -> Array:
    a, b = xp.moveaxis(self, dim, 0), xp.moveaxis(other, dim, 0)
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return xp.ascontiguousarray(xp.stack(parts, dim))


def _check_out_apart(out: Any, values: Sequence[Any]) -> None:
    for operand in values[:2]:
        if isinstance(out, TensorBase):
            check_apart(out, operand, whole=True)


linalg_cross: Exact = Exact(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1)", _cross,
    {
        "self": lambda g, other, dim, self_shape: sum_to(linalg_cross.apply(conj(other), g, dim), self_shape),
        "other": lambda g, self, dim, other_shape: sum_to(linalg_cross.apply(g, conj(self), dim), other_shape),
    },
    check=_check_cross, check_out=_check_out_apart, linear="each", batch=LEADING, shows="dim",
)  # fmt: skip


def _into_cross(out: Any, cross: Any, values: Sequence[Any], name: str) -> Any:
    _check_out_apart(out, values)
    return into_exactly(out, cross, values, name)


@published("cross(Tensor self, Tensor other, int? dim=None)", into=_into_cross)
def cross(input: Tensor, other: Tensor, dim: int | None) -> Tensor:
    """The cross product along a dimension of size 3: the first such one when none is named."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release."
        )
        dim = next((d for d, n in enumerate(input._array.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross.apply(input, other, dim)


# ---- distances


def _differences(x1: Any, x2: Any) -> Any:
    """From every row of `x2` to every row of `x1`."""
    return x1[..., :, None, :] - x2[..., None, :, :]


def _cdist(xp: Namespace, x1: Array, x2: Any, p: float, compute_mode: int | None) -> Array:
    between = _differences(x1, x2)
    if not x1.shape[-1]:
        return xp.zeros(between.shape[:-1], x1.dtype)
    made = largest_known(xp, between) if p == math.inf else distance(xp, between, p)
    return xp.ascontiguousarray(made.astype(x1.dtype, copy=False))


def _through(g: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """The gradient of all differences."""
    size = result.unsqueeze(-1)
    g = g.unsqueeze(-1)
    if p not in (1, math.inf):
        g = g.masked_fill(size == 0, 0)  # even an infinite one
    return g * slope(_differences(x1, x2), size, p)


@published_whole(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist)", recorded=True, function=False,
    method=False,
)  # fmt: skip
def _cdist_backward(g: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """The gradient of the first vectors."""
    return sum_to(_through(g, x1, x2, p, result).sum(-2), x1._array.shape)


def _cdist_vjp(
    g: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor, needs: Sequence[bool]
) -> list[Tensor | None]:
    if is_watched():
        to_x1 = _cdist_backward(g.contiguous(), x1, x2, p, result) if needs[0] else None
        if not needs[1]:
            return [to_x1, None]
        turned = g.mT.contiguous()
        return [to_x1, _cdist_backward(turned, x2, x1, p, result.mT.contiguous())]
    through = _through(g, x1, x2, p, result)
    return [sum_to(through.sum(-2), x1._array.shape), sum_to(-through.sum(-3), x2._array.shape)]


def _check_cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> None:
    if not x1._array.size or not x2._array.size:
        return
    if x1.dtype in dt.HALVES:
        raise errors.not_implemented_for("cdist", x1.dtype)
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.legacy} but found {x2.dtype.legacy}")


_by_differences = Op(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode)", _cdist, _cdist_vjp, node="CdistBackward0",
    batch=BROADCAST, check_form=_check_cdist,
)  # fmt: skip


def _euclidean(xp: Namespace, x1: Any, x2: Any) -> Array:
    """The root of |a|² - 2ab + |b|², which BLAS knows how to do fast."""
    a, b = [(x * x).sum(-1, keepdims=True) for x in (x1, x2)]
    return xp.sqrt(xp.maximum(a + xp.swapaxes(b, -1, -2) - 2 * product(xp, x1, xp.swapaxes(x2, -1, -2)), 0))


def _pull(ratio: Tensor, x: Tensor, others: Tensor) -> Tensor:
    return sum_to(x * ratio.sum(-1, True) - ratio.matmul(others), x._array.shape)


def _euclidean_vjp(g: Tensor, x1: Tensor, x2: Tensor, result: Tensor) -> list[Tensor]:
    ratio = (g / result).masked_fill(result == 0, 0)
    return [_pull(ratio, x1, x2), _pull(ratio.transpose(-1, -2), x2, x1)]


_by_products = Op(
    "_euclidean_dist(Tensor x1, Tensor x2)", _euclidean, _euclidean_vjp, batch=BROADCAST, check_form=same_dtype
)  # fmt: skip

_MANY = 25  # rows, from which on products are faster
_MODES = {
    "use_mm_for_euclid_dist_if_necessary": lambda rows: rows > _MANY,
    "use_mm_for_euclid_dist": lambda rows: True,
    "donot_use_mm_for_euclid_dist": lambda rows: False,
}


@published(
    "cdist(Tensor x1, Tensor x2, float p=2.0, any compute_mode='use_mm_for_euclid_dist_if_necessary')", method=False
)
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: Any) -> Tensor:
    """The distances of order `p` between all rows of `x1` and all rows of `x2`, batch by batch."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    a, b = x1._array.shape, x2._array.shape
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype not in dt.FLOATS:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.legacy}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    errors.broadcast_shapes(a[:-2], b[:-2])
    if p == 2 and a[-1] and a[-2] and b[-2] and _MODES[compute_mode](max(a[-2], b[-2])):
        return _by_products.apply(x1, x2)
    return _by_differences.apply(x1, x2, p, None)


describe(cross="The cross product of vectors of three elements along a dimension.")
