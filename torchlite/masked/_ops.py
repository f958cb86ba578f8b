"""Functions of the elements where a mask is True; without a mask, of all.

An element that is passed over is replaced by one that does not change the outcome. That is also what a row comes to in
which the mask is False everywhere: the sum of nothing is 0, its largest element the smallest number there is. A mask
has the input's shape, or one that can be broadcast to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import dt, sparse_coo, sparse_csr, strided, wrap_dim
from ..operations.pointwise.selection import where
from ..operations.reductions.vector_norms import norm_of_order
from .sparse_reductions import reduced, refuse_layout

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

Ints = tuple[int, ...]

# ---- what stands for an element that is passed over


def _extreme(name: str, sign: int) -> Callable[[Tensor], float]:
    """The largest number (or smallest, where `sign` is -1) of a tensor's dtype."""

    def extreme(input: Tensor) -> float:
        if input.dtype is dt.bool_:
            raise NotImplementedError(f"identity of {name} on torch.bool input")
        if input.dtype.is_complex and name != "logsumexp":
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if input.dtype.category >= dt.FLOAT:
            return sign * math.inf
        limits = dt.iinfo(input.dtype)
        return limits.max if sign > 0 else limits.min

    return extreme


def _filled(input: Tensor, mask: Tensor | None, identity: float | Callable[[Tensor], float], name: str) -> Tensor:
    """The input, of the function `name`, with `identity` where the mask is False."""
    if input.layout is not strided:
        refuse_layout(name, input, mask)
    if mask is None:
        return input
    other = identity(input) if callable(identity) else identity
    return where(_fitting(mask, input), input, input.new_tensor(other))


def _fitting(mask: Tensor, input: Tensor) -> Tensor:
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    fitting = mask if mask.shape == input.shape else _broadcast(mask, input.shape)
    return (fitting if fitting.layout is strided else fitting.to_dense()).to(dt.bool_)


def _broadcast(mask: Tensor, shape: Ints) -> Tensor:
    if mask.layout not in (strided, sparse_coo, sparse_csr):
        raise AssertionError(f"expected sparse_csr layout, got {mask.layout}")
    spread = mask.to_dense().clone().expand(shape)
    return spread.to_sparse().to_sparse_csr() if mask.layout is sparse_csr else spread


def _dims(dim: int | Ints | None, input: Tensor) -> Ints:
    """The dimensions meant, from the front; all where none is said."""
    ndim = input.dim()
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        place = wrap_dim(d, ndim)
        if place in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        dims.append(place)
    return tuple(dims)


def _given(d: dt.dtype | None, usual: dt.dtype) -> dt.dtype:
    return usual if d is None else d


def _summed_as(d: dt.dtype) -> dt.dtype:
    return dt.int64 if d.category < dt.FLOAT else d


# ---- reductions


def _reduction(
    name: str, identity: float | Callable[[Tensor], float], reduce: Callable[..., Tensor], doc: str
) -> Callable[..., Tensor]:
    def reduction(
        input: Tensor, dim: int | Ints | None = None, *, keepdim: bool | None = False, dtype: dt.dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        if input.layout is not strided:
            usual = _summed_as(input.dtype) if name in ("sum", "prod") else input.dtype
            unit = identity(input) if callable(identity) else identity
            dims = [d for d in _dims(dim, input) if d < input.dim()]
            return reduced(name, input, dims, bool(keepdim), _given(dtype, usual), mask, unit)
        if mask is not None and mask.layout is not strided:
            mask = mask.to_dense()
        keepdim = keepdim if name == "logsumexp" else bool(keepdim)
        return reduce(_filled(input, mask, identity, name), dim, keepdim, dtype)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = doc
    return reduction


def _product(t: Tensor, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Tensor:
    dims, t = _dims(dim, t), t.to(_given(dtype, _summed_as(t.dtype)))
    for place in sorted(dims, reverse=True):
        t = t.prod(place, keepdim)
    return t


sum = _reduction(
    "sum",
    0,
    lambda t, dim, keepdim, dtype: t.sum(_dims(dim, t), keepdim, dtype=_given(dtype, _summed_as(t.dtype))),
    "The sum of what the mask lets through.",
)
prod = _reduction("prod", 1, _product, "The product of what the mask lets through.")


def _of_extremes(name: str, sign: int, doc: str, one: bool = False) -> Callable[..., Tensor]:
    """A reduction for which a number beyond all others counts for nothing; `one` if along all dimensions or one."""

    def reduce(t: Tensor, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Tensor:
        return getattr(t, name)(dim if one else _dims(dim, t), keepdim).to(dtype=_given(dtype, t.dtype))

    return _reduction(name, _extreme(name, sign), reduce, doc)


amax = _of_extremes("amax", -1, "The largest element that the mask lets through.")
amin = _of_extremes("amin", 1, "The smallest element that the mask lets through.")
argmax = _of_extremes("argmax", -1, "Where the largest element is that the mask lets through.", one=True)
argmin = _of_extremes("argmin", 1, "Where the smallest element is that the mask lets through.", one=True)
logsumexp = _of_extremes("logsumexp", -1, "The logarithm of the sum of exponentials that the mask lets through.")


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """Of how many elements a reduction is."""
    return sum(functions["ones_like"](input, dtype=dt.int64), dim, keepdim=keepdim, mask=mask)


def mean(
    input: Tensor, dim: int | Ints | None = None, *, keepdim: bool | None = False, dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The mean of what the mask lets through; that of nothing is not a number."""
    if _given(dtype, input.dtype).category < dt.FLOAT:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{_given(dtype, input.dtype)}"
        )
    if input.layout is not strided:
        usual = _given(dtype, input.dtype)
        return reduced("mean", input, _dims(dim, input), bool(keepdim), usual, mask, 0)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, bool(keepdim), mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dt.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The median of what the mask lets through along a dimension, the lower of two; that of nothing is not a number."""
    inexact = input.is_floating_point()
    wide = input if inexact else input.to(dt.float32)
    result = _filled(wide, mask, math.nan, "median").nanmedian(_dims(dim, input)[0], keepdim).values
    if inexact:
        return result
    if result.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(_given(dtype, input.dtype))


def norm(
    input: Tensor, ord: float | None = 2.0, dim: int | Ints | None = None, *, keepdim: bool | None = False,
    dtype: dt.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm, as of one vector, of the elements that the mask lets through."""
    filled = _filled(input, mask, math.inf if ord == -math.inf else 0, "norm")
    return norm_of_order(filled, ord, _dims(dim, input), bool(keepdim), dtype)


def var(
    input: Tensor, dim: int | Ints | None = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool | None = False, dtype: dt.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance of what the mask lets through; that of no elements, or of no more than `correction`, is not a number
    or infinite."""
    if input.layout is not strided:
        refuse_layout("var", input, None)
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if mask is not None and isinstance(dim, Tensor):
        raise TypeError("sum(): argument 'dim' must be tuple of ints, not Tensor")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if dtype is None:
        dtype = input.dtype if input.dtype.category >= dt.FLOAT else dt.float32
    count = _count(input, dim, True, mask)
    away = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    away = away - sum(away, dim, keepdim=True, dtype=dtype, mask=mask) / count  # what the mean was rounded by
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    left = (count.reshape(total.shape).to(dtype.to_real()) - correction).clamp_min(0)
    return (total / left).to(dtype)


def std(
    input: Tensor, dim: int | Ints | None = None, unbiased: bool | None = None, *, correction: int | None = None,
    keepdim: bool | None = False, dtype: dt.dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation of what the mask lets through."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


# ---- what keeps the shape


def _along(
    name: str, identity: float | Callable[[Tensor], float], apply: Callable[..., Tensor], doc: str
) -> Callable[..., Tensor]:
    def along(input: Tensor, dim: int, *, dtype: dt.dtype | None = None, mask: Tensor | None = None) -> Tensor:
        return apply(_filled(input, mask, identity, name), _dims(dim, input)[0], dtype=_given(dtype, input.dtype))

    along.__name__ = along.__qualname__ = name
    along.__doc__ = doc
    return along


cumsum = _along("cumsum", 0, functions["cumsum"], "The sums of the elements so far that the mask lets through.")
cumprod = _along("cumprod", 1, functions["cumprod"], "The products of the elements so far that the mask lets through.")
softmax = _along(
    "softmax", _extreme("softmax", -1), functions["softmax"],
    "Shares of the exponentials in the sum of those that the mask lets through.",
)  # fmt: skip
log_softmax = _along(
    "log_softmax", _extreme("log_softmax", -1), functions["log_softmax"], "The logarithms of what `softmax` gives."
)
softmin = _along(
    "softmin", _extreme("softmin", 1), lambda t, dim, dtype: (-t).softmax(dim, dtype),
    "The `softmax` of the negatives: the smallest element has the largest share.",
)  # fmt: skip


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: dt.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The elements divided by the norm of those that the mask lets through, which counts as `eps` where it is less."""
    filled = _filled(input, mask, 0, "normalize")
    size = norm(input, ord, _dims(dim, input)[0], keepdim=True, dtype=dtype, mask=mask)
    return filled / size.maximum(size.new_full(size.shape, eps))


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: dt.dtype | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The logarithm of the sum of two exponentials, of which either may be passed over."""
    name, smallest = "logaddexp", _extreme("logaddexp", -1)
    if not input.layout is other.layout is strided:
        raise ValueError(
            f"masked {name} expects strided tensors (got {input.layout} tensor for input, {other.layout} for other)"
        )
    first, second = _filled(input, input_mask, smallest, name), _filled(other, other_mask, smallest, name)
    return first.logaddexp(second).to(dtype=_given(dtype, input.dtype))
