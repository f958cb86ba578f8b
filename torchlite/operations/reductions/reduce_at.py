"""Reductions into places: what `scatter_reduce` and `index_reduce` share, and their derivative."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.machine import Tensor, functions
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


class Ways(NamedTuple):
    """The methods by which elements go to places, or come from them."""

    add: str
    select: str
    reduce: str
    fill: str


SCATTER = Ways("scatter_add", "gather", "scatter_reduce", "scatter")
INDEX = Ways("index_add", "index_select", "index_reduce", "index_fill")


def reduce_backward(
    ways: Ways, g: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool,
    result: Tensor,
) -> tuple[Tensor, None, Tensor]:  # fmt: skip
    """The gradients for `self`, `index` and `src` of a reduction along `dim`."""

    def collected(start: Tensor, values: Tensor) -> Tensor:
        return getattr(start, ways.add)(dim, index, values)

    def seen(t: Tensor) -> Tensor:
        """What belongs to each element of `src`."""
        return getattr(t, ways.select)(dim, index)

    def product(start: Tensor, values: Tensor) -> Tensor:
        return getattr(start, ways.reduce)(dim, index, values, "prod", include_self=include_self)

    if reduce == "sum":
        to_self, to_src = g, seen(g)
    elif reduce == "mean":
        own = functions["ones_like" if include_self else "zeros_like"](self)
        count = collected(own, functions["ones_like"](src))
        count = count.masked_fill_(count == 0, 1)
        to_self, to_src = g / count, seen(g) / seen(count)
    elif reduce == "prod":
        some_self = self.masked_fill(self == 0, 1)
        to_self = g * product(some_self, src) / some_self
        zero = src == 0
        # For the one zero in `src`, the product of the rest; else the result without this factor.
        alone = zero & (seen(collected(functions["zeros_like"](self), zero.to(self.dtype))) == 1)
        rest = product(self, src.masked_fill(alone, 1))
        some_src = src.masked_fill(zero, 1)
        without = seen(g * result) / some_src
        to_src = seen(g * rest).where(alone, without)
    else:
        best = seen(result)
        best_self, best_src = (self == result).to(self.dtype), (src == best).to(self.dtype)
        share = g / collected(best_self, best_src)  # NaN where the result is, since NaN equals nothing
        to_self, to_src = best_self * share, best_src * seen(share)
    if not include_self:
        to_self = getattr(to_self, ways.fill)(dim, index, 0)
    return to_self, None, to_src
