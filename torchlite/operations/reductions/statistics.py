"""Variances, quantiles, covariances."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import (
    Composite,
    Reduction,
    all_dims,
    conj,
    describe,
    publish,
    published,
    reduced_count,
    with_reduced,
)
from ...core.machine import Tensor
from ...core.state import is_watched
from ...core.values import Array, Backend, Namespace, dt, strided, warn, wrap_dim
from ...kernels.summing import add_reduce
from ..formulas import options, tensors
from ..pointwise.selection import where
from ..vocabulary import requirement
from .in_one_kernel import in_one_kernel, sums_of
from .summing import carried

# ---- variance


def _check_inexact(name: str) -> Any:
    def check(t: Tensor, *_: Any) -> None:
        if t.dtype.category < dt.FLOAT:
            raise RuntimeError(f"{name} only support floating point and complex dtypes")

    return check


def _freedom(count: int, correction: float | None) -> float:
    """What the sum of squares is divided by."""
    return max(count - (1 if correction is None else correction), 0)


def _moments(name: str, root: bool, with_mean: bool) -> Any:
    """A kernel for the variance or its root by two passes: the mean, then the squares of what is left.

    They are computed in double precision. Numbers that have it are counted from one element, whose size then takes no
    digits from the rest.
    """

    def kernel(backend: Backend, array: Array, axis: Any, keepdim: bool, correction: float | None) -> Any:
        xp, count = backend.xp, reduced_count(array, axis)
        freedom = _freedom(count if array.size else 0, correction)
        if freedom <= 0:
            for _ in range(2 if array.dtype.kind == "c" else 1):  # parts
                warn(
                    f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
                    "factor (input numel divided by output numel).",
                )
        wide = carried(array)
        start: Any = 0
        if wide == array.dtype:
            start = _first(xp, array, all_dims(array, axis))
            rest = xp.asarray(array - start)
        else:
            rest = array.astype(wide)
        mean = add_reduce(xp, rest, axis, keepdim or axis is not None) / count
        rest -= mean
        squares = rest.real**2 + rest.imag**2 if array.dtype.kind == "c" else xp.multiply(rest, rest, rest)
        result = add_reduce(xp, squares, axis, keepdim) / (freedom if count else math.nan)
        result = (xp.sqrt(result) if root else result).astype(array.real.dtype)
        if with_mean:
            mean = (start + mean).astype(array.dtype)
            if array.size and backend.values and not xp.isfinite(mean).all().item():
                mean = _running(xp, array, all_dims(array, axis), mean)
            return result, mean if keepdim else mean.reshape(result.shape)
        return result

    return kernel


def _first(xp: Namespace, array: Array, axes: tuple[int, ...]) -> Any:
    """The first element along the axes, if it is finite."""
    if not array.size:
        return array.dtype.type(0)
    first = array[tuple([slice(1) if d in axes else slice(None) for d in range(array.ndim)])]
    return xp.where(xp.isfinite(first), first, first.dtype.type(0))


def _running(xp: Namespace, array: Array, axes: tuple[int, ...], mean: Array) -> Array:
    """The mean as PyTorch's, which is a running one: what is not finite makes it NaN, unless nothing comes after."""
    wild = ~xp.isfinite(array)
    last = wild[tuple([slice(-1, None) if d in axes else slice(None) for d in range(array.ndim)])]
    return xp.where(wild.sum(axes, keepdims=True) > last, mean.dtype.type(math.nan), mean)


def _var_vjp(g: Tensor, self: Tensor, dim: Any, correction: float | None, keepdim: bool, result_numel: int) -> Tensor:
    g = with_reduced(g, self, dim, keepdim)
    count = self.numel() // max(result_numel, 1)
    freedom = count - (1 if correction is None else correction)
    mean = self.mean(dim, True) if dim is not None or not is_watched() else self.mean()
    if (dim is None or not self.dim()) and freedom <= 0:
        return g * where(self == mean, math.nan, math.inf)
    rest = self - mean
    if self.dtype not in dt.HALVES and not is_watched():
        left = rest.mean(dim, True)  # not zero, since the mean was rounded, which shows where it is large
        rest = rest - left.masked_fill(left.isfinite().logical_not(), 0)
    return g * (2 / freedom if freedom else math.inf) * rest


def _std_vjp(g: Tensor, self: Tensor, result: Tensor, dim: Any, correction: float | None, keepdim: bool) -> Tensor:
    of_var = (g / (result * 2)).masked_fill_(result == 0, 0)
    return _var_vjp(of_var, self, dim, correction, keepdim, result.numel())


def _spread(xp: Namespace, g: Array, self: Array, total: Array, count: float, factor: float) -> Any:
    return g * factor * (self - total / count)


def _spread_of_root(
    xp: Namespace, g: Array, self: Array, total: Array, count: float, factor: float, result: Array
) -> Any:  # fmt: skip
    return xp.where(result == 0, result, g / (result * 2)) * factor * (self - total / count)


def _var_gradient(
    follow: Any, backend: Backend, g: Array, shape: Any, axes: Any, self: Array, correction: float | None,
    *result: Array,
) -> Any:  # fmt: skip
    """The derivatives below, of a variance or its root, on a device: a sum, and one kernel."""
    count = self.size // g.size
    freedom = count - (1 if correction is None else correction)
    if freedom <= 0:
        return None
    total = self.sum(axes, sums_of(self.dtype), keepdims=True)
    given = g, self, total, float(count), 2 / freedom, *result
    return follow(_spread_of_root if result else _spread, backend.xp, *given)


def _std_gradient(
    follow: Any, backend: Backend, g: Array, shape: Any, axes: Any, self: Array, correction: float | None, result: Array
) -> Any:
    return _var_gradient(follow, backend, g, shape, axes, self, correction, result)


def _mean_vjp(g: Tensor | None, self: Tensor, dim: Any, keepdim: bool, numel: int) -> Tensor | None:
    if g is None:
        return None
    return with_reduced(g, self, dim, keepdim).expand(self.shape) / (self.numel() // max(numel, 1))


def _total(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a + b


def _var_mean_vjp(
    grads: list[Any], self: Tensor, dim: Any, correction: float | None, keepdim: bool, result0_numel: int
) -> Any:
    spread = None if grads[0] is None else _var_vjp(grads[0], self, dim, correction, keepdim, result0_numel)
    return _total(spread, _mean_vjp(grads[1], self, dim, keepdim, result0_numel))


def _std_mean_vjp(
    grads: list[Any], self: Tensor, result0: Tensor, dim: Any, correction: float | None, keepdim: bool
) -> Any:
    spread = None if grads[0] is None else _std_vjp(grads[0], self, result0, dim, correction, keepdim)
    return _total(spread, _mean_vjp(grads[1], self, dim, keepdim, result0.numel()))


def _declare_moments(name: str, vjp: Any, refused_as: str) -> None:
    root, with_mean = name.startswith("std"), name.endswith("mean")
    results = " -> (Tensor result0, Tensor result1)" if with_mean else ""
    op = Reduction(
        f"{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)" + results,
        _moments(name, root, with_mean),
        vjp,
        result=("real", "same") if with_mean else "real", check_form=_check_inexact(refused_as), bare=True,
        on_backend=True,  # whose kernel looks at values, where there are any
        on_arrays=None if with_mean else in_one_kernel(_std_gradient if root else _var_gradient),
    )  # fmt: skip
    whole = Composite(
        f"{name}(Tensor self, bool unbiased=True)" + results,
        lambda self, unbiased: op.apply(self, None, None if unbiased else 0, False),
        lambda self, unbiased: (op, (self, None, None if unbiased else 0, False)),
    )
    dims = Composite(
        f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)" + results,
        lambda self, dim, unbiased, keepdim: op.apply(self, dim, int(unbiased), keepdim),
        lambda self, dim, unbiased, keepdim: (op, (self, dim, int(unbiased), keepdim)),
    )
    publish(whole, dims, op, method=not with_mean)


_declare_moments("var", _var_vjp, "std and var")
_declare_moments("std", _std_vjp, "std and var")
_declare_moments("var_mean", _var_mean_vjp, "var_mean")
_declare_moments("std_mean", _std_mean_vjp, "std_mean")

# ---- quantiles

_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(t: Tensor, q: Tensor, interpolation: str) -> None:
    require = requirement("quantile() ")
    require(t.numel() > 0, "input tensor must be non-empty")
    require(q.dim() <= 1, "q must be a scalar or 1D tensor")
    require(t.dtype in (dt.float32, dt.float64), "input tensor must be either float or double dtype")
    require(t.dtype is q.dtype, "q tensor must be same dtype as the input tensor")
    require(t.device == q.device, "q tensor must be on the same device as the input tensor")
    require(
        interpolation in _MODES,
        f"interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}",
    )


def _quantile(name: str, t: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """Between which neighbours of the sorted elements each quantile lies, and how far."""
    _check_quantile(t, q, interpolation)
    ndim = t.dim()
    axis = None if dim is None else wrap_dim(dim, ndim)
    if axis is None or not ndim:
        rows = t.flatten()
    else:
        rows = t if axis == ndim - 1 else t.unsqueeze(-1).transpose(axis, -1)
    kept = [1 if axis is None or d == axis else n for d, n in enumerate(t.shape) if keepdim or axis not in (None, d)]
    n = rows.shape[-1]
    ordered = rows.sort(-1).values.view((*kept, n))
    if name == "nanquantile":
        ranks = q * (ordered.isnan().logical_not_().sum(-1, True) - 1)
        ranks.masked_fill_(ranks < 0, 0)
    else:
        found, shape = (q * (n - 1), ordered.isnan().any(-1, True)), (*ordered.shape[:-1], q.numel())
        ranks, unknown = [t if t.shape == shape else t.expand(shape) for t in found]
        ranks = ranks.masked_fill(unknown, n - 1)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": Tensor.floor_, "higher": Tensor.ceil_, "nearest": Tensor.round_}[interpolation](ranks)
    below = ranks.to(dt.int64)
    made = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = tensors.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        made.lerp_(ordered.gather(-1, ranks.ceil_().to(dt.int64)), weight)
    return made.unsqueeze_(0).transpose_(0, -1).squeeze_(-1) if q.dim() else made.squeeze_(-1)


def _declare_quantile(name: str) -> None:
    def quantiles(self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
        seen = q.device.type == "cpu" and not q._backend.home.level and not is_watched()
        if seen and not bool(((q >= 0) & (q <= 1)).all()):
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
        return _quantile(name, self, q, dim, keepdim, interpolation)

    def quantile(self: Tensor, q: float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        rank = tensors.scalar_tensor(q, **options(self) | {"layout": strided})
        return _quantile(name, self, rank, dim, keepdim, interpolation)

    more = "int? dim=None, bool keepdim=False, *, str interpolation='linear')"
    publish(
        Composite(f"{name}(Tensor self, Tensor q, {more}", quantiles),
        Composite(f"{name}.scalar(Tensor self, float q, {more}", quantile),
    )


_declare_quantile("quantile")
_declare_quantile("nanquantile")

# ---- covariance


def _holds(condition: Tensor) -> bool:
    """Whether a condition holds, which PyTorch asks by a comparison where a mode sees it."""
    if is_watched():
        return tensors.equal(condition, condition.new_ones((), **options(condition)))
    return bool(condition)


def _check_weights(which: str, weights: Tensor, count: int, kinds: frozenset[dt.dtype], kind: str) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {which} to have one or fewer dimensions but got {which} with {weights.dim()} dimensions"
        )
    if weights.dtype not in kinds:
        raise RuntimeError(
            f"cov(): expected {which} to have {kind} dtype but got {which} with {weights.dtype.legacy} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {which} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if count and not _holds(weights.min() >= 0):
        raise RuntimeError(f"cov(): {which} cannot be negative")


@published("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)")
def cov(input: Tensor, correction: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor:
    """The covariances of the rows, whose columns are observations."""
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input.dtype is dt.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    t = input if input.dim() == 2 else input.reshape((1, -1))
    count = t.shape[1]
    if fweights is not None:
        _check_weights("fweights", fweights, count, dt.INTEGERS | dt.UNSIGNED, "integral")
    if aweights is not None:
        _check_weights("aweights", aweights, count, dt.FLOATS, "floating point")
    if aweights is None:
        weights = fweights
    else:
        weights = aweights if fweights is None else fweights * aweights
    told = options(t) | {"dtype": dt.int64}
    total = tensors.scalar_tensor(count, **told) if weights is None else weights.sum()
    if weights is not None and not _holds(total != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (t if weights is None else t * weights).sum(1) / total
    if weights is None:
        freedom = tensors.scalar_tensor(count - correction, **told)
    elif aweights is None or not correction:
        freedom = total - correction
    else:
        freedom = total - (weights * aweights).sum() * correction / total
    if _holds(freedom <= 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        freedom.zero_()
    rest = t - mean.unsqueeze(1)
    products = rest.mm(conj(rest if weights is None else rest * weights).t())
    return products.true_divide(freedom).squeeze()


@published("corrcoef(Tensor self)")
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows, whose columns are observations."""
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    c = cov(input, 1, None, None)
    if not c.dim():
        return c / c
    deviation = (c.real if c.is_complex() else c).diagonal().sqrt()
    c = c / deviation.reshape((-1, 1)) / deviation.reshape((1, -1))
    if c.is_complex():
        return c.real.clip(-1, 1) + c.imag.clip(-1, 1) * 1j
    return c.clip(-1, 1)


describe(
    nanquantile="As `quantile`, of those elements that are no NaN.",
    quantile="The quantiles `q` of the elements, of all or along a dimension.",
    std="The standard deviation, of all elements or along dimensions; `correction` 1 divides by n - 1.",
    std_mean="The standard deviation and the mean: `(std, mean)`.",
    var="The variance, of all elements or along dimensions; `correction` 1 divides by n - 1.",
    var_mean="The variance and the mean: `(var, mean)`.",
)
