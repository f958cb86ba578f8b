"""Reductions into places: what `scatter_reduce` and `index_reduce` share, and their derivative."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor
from ...core.values import Namespace

_UFUNCS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def ufunc_of(reduce: str) -> str:
    """The binary function that a reduction repeats."""
    return _UFUNCS[reduce]


def start_of(xp: Namespace, reduce: str, dtype: Any) -> Any:
    """The value that a reduction begins with."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    low = reduce == "amax"
    if dtype.kind == "b":
        return not low
    if dtype.kind in "iu":
        limits = xp.iinfo(dtype)
        return limits.min if low else limits.max
    return -float("inf") if low else float("inf")


def into_mean(xp: Namespace, sums: Any, count: Any) -> None:
    """Divide sums by how many went into each; whole numbers are rounded down."""
    divide = xp.floor_divide if sums.dtype.kind in "iu" else xp.true_divide
    sums[...] = divide(sums, xp.maximum(count, 1).astype(sums.dtype))


def reduce_backward(
    g: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, None, Tensor]:
    """The gradients for `self`, `index` and `src` of a reduction along `dim`."""

    def collected(start: Tensor, values: Tensor) -> Tensor:
        return start.scatter_add(dim, index, values)

    def seen(t: Tensor) -> Tensor:
        """What belongs to each element of `src`."""
        return t.gather(dim, index)

    if reduce in ("sum", "mean"):
        if reduce == "mean":
            count = self.new_ones(self.shape) if include_self else self.new_zeros(self.shape)
            g = g / collected(count, src.new_ones(src.shape)).clamp(min=1)
        to_self, to_src = g, seen(g)
    elif reduce == "prod":

        def product(start: Tensor, values: Tensor) -> Tensor:
            return start.scatter_reduce(dim, index, values, "prod", include_self=include_self)

        zero = src == 0
        some_self, some_src = self.masked_fill(self == 0, 1), src.masked_fill(zero, 1)
        to_self = g * product(some_self, src) / some_self
        # For the one zero in `src`, the product of the rest; else the result without this factor.
        zeros = collected(self.new_zeros(self.shape), zero.to(self.dtype))
        to_src = seen(g * product(self, some_src)).where(zero & (seen(zeros) == 1), seen(g * result) / some_src)
    else:
        best_self, best_src = (self == result).to(self.dtype), (src == seen(result)).to(self.dtype)
        share = g / collected(best_self, best_src)  # NaN where the result is, since NaN equals nothing
        to_self, to_src = best_self * share, best_src * seen(share)
    if not include_self:
        to_self = to_self.scatter(dim, index, 0)
    return to_self, None, to_src
