"""Counts of values: `bincount` and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, describe, publish
from ...core.machine import NOT_IMPLEMENTED, Tensor, fitting_array
from ...core.values import Array, Namespace, dt, errors
from ..shapes.shape import along_dim
from ..vocabulary import requirement, undifferentiable

# ---- of integers


def _check_bincount(t: Tensor, weights: Tensor | None, minlength: int) -> None:
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if t.dtype.category != dt.INT:
        raise errors.not_implemented_for("bincount_cpu", t.dtype)
    if t.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.dim() != 1 or weights.numel() != t.numel()):
        raise RuntimeError("weights should be 1-d and have the same length as input")


def _bincount(xp: Namespace, array: Array, weights: Any, minlength: int) -> Array:
    d = xp.int64 if weights is None else xp.float32 if weights.dtype == xp.float32 else xp.float64
    if not array.size:
        return xp.zeros(minlength, xp.int64)
    if array.min().item() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    wide = None if weights is None else weights.astype(xp.float64)
    return xp.bincount(array.astype(xp.int64), wide, minlength).astype(d)


bincount = Op("bincount(Tensor self, Tensor? weights=None, int minlength=0)", _bincount, check=_check_bincount)
publish(bincount)

# ---- in bins of equal width


def _check_histc(t: Tensor, bins: int, low: float, high: float) -> None:
    if t.dtype not in dt.FLOATS:
        raise errors.not_implemented_for("histogram_cpu", t.dtype)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    for bound in (low, high):
        fitting_array(bound, t.dtype, t._backend.real)


def _histc(xp: Namespace, array: Array, bins: int, low: float, high: float) -> Array:
    if low == high and array.size:
        low, high = array.min().item(), array.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    low, high, count = (array.dtype.type(v) for v in (low, high, bins))  # halves are rounded at each step
    inside = array[(array >= low) & (array <= high)]
    places = ((inside - low) * count / (high - low)).astype(xp.int64)
    return xp.bincount(xp.minimum(places, bins - 1), None, bins).astype(array.dtype)


histc = Op("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0)", _histc, check=_check_histc)
publish(histc)

# ---- in a grid of bins
#
# Points are the rows of a matrix. A bin holds its lower edge, the last one its upper edge too.


_require = requirement("torch.histogramdd: ")


def _even_edges(xp: Namespace, points: Array, bins: Sequence[int], bounds: Sequence[float] | None) -> list[Any]:
    """Edges of bins of equal width for each column of `points`, over the given range or that of the values."""
    _require(
        bounds is None or len(bounds) == 2 * len(bins),
        f"for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, but got "
        f"{len(bounds or ())}",
    )
    edges = []
    for i, n in enumerate(bins):
        if n <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {i}")
        column = points[:, i]
        if bounds is not None:
            low, high = bounds[2 * i : 2 * i + 2]
        else:
            low, high = (column.min().item(), column.max().item()) if column.size else (0.0, 1.0)
        _require(math.isfinite(low) and math.isfinite(high), f"dimension {i}'s range [{low:g}, {high:g}] is not finite")
        _require(low <= high, f"min should not exceed max, but got min {low:g} max {high:g} for dimension {i}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(xp.linspace(low, high, n + 1).astype(points.dtype))
    return edges


def _bins_of(xp: Namespace, values: Any, edges: Any) -> Array:
    """The bin of each value; -1 for none."""
    last = len(edges) - 2
    place = xp.searchsorted(edges, values, side="right") - 1
    place = xp.where(values == edges[-1], last, place)
    return xp.where((place < 0) | (place > last) | (values != values), -1, place)


def _count(xp: Namespace, points: Array, edges: list[Any], weight: Any, density: bool) -> Any:
    """How many points, or how much weight, each cell of the grid holds."""
    _require(
        weight is None or weight.size == len(points),
        "if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
        f"dimension, but got input with shape {list(points.shape)} and weight with shape "
        f"{[] if weight is None else list(weight.shape)}",
    )
    shape = tuple([len(e) - 1 for e in edges])
    cells = xp.zeros(len(points), xp.int64)
    inside = xp.ones(len(points), bool)
    for i, e in enumerate(edges):
        place = _bins_of(xp, points[:, i], e)
        cells = cells * shape[i] + place
        inside &= place >= 0
    weights = None if weight is None else weight.reshape(-1)[inside].astype(xp.float64)
    counts = xp.bincount(cells[inside], weights, math.prod(shape)).reshape(shape).astype(points.dtype)
    if density:
        counts = counts / counts.sum()
        for i, e in enumerate(edges):
            counts = counts / xp.diff(e).reshape(along_dim(i, len(shape)))
    return counts


def _check_histogram(t: Tensor, *more: Any) -> None:
    bins, weight = more[0], more[-2]
    if t.dtype not in (dt.float32, dt.float64):
        raise errors.not_implemented_for("histogram_cpu" if isinstance(bins, Tensor) else "histogramdd", t.dtype)
    for i, edges in enumerate(bins if isinstance(bins, tuple) else (bins,)):
        _require(
            isinstance(edges, int) or edges.dtype is t.dtype,
            "input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{t.dtype.cname} and bins for dimension {i} with dtype {getattr(edges, 'dtype', t.dtype).cname}",
        )
    if weight is not None:
        _require(
            weight.dtype is t.dtype,
            "if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({t.dtype.cname}), and weight({weight.dtype.cname})",
        )


def _histogram(xp: Namespace, array: Array, bins: int, bounds: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    points = array.reshape(-1, 1)
    edges = _even_edges(xp, points, (bins,), bounds)
    return _count(xp, points, edges, weight, density), edges[0]


def _histogram_with_edges(xp: Namespace, array: Array, bins: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    _check_edges([bins])
    return _count(xp, array.reshape(-1, 1), [bins], weight, density), bins.copy()


def _check_edges(edges: Sequence[Any]) -> None:
    for i, e in enumerate(edges):
        _require(
            e.ndim == 1,
            f"bins tensor should have one dimension, but got {e.ndim} dimensions in the bins tensor for dimension {i}",
        )
        _require(
            e.size > 0, f"bins tensor should have at least 1 element, but got 0 in the bins tensor for dimension {i}"
        )


_unknown = undifferentiable("derivative for aten::histogram is not implemented")
publish(
    Op(
        "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)"
        " -> (Tensor hist, Tensor bin_edges)",
        _histogram_with_edges,
        {"self": _unknown, "bins": _unknown, "weight": _unknown},
        check=_check_histogram,
        node=NOT_IMPLEMENTED,
    ),
    Op(
        "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False)"
        " -> (Tensor hist, Tensor bin_edges)",
        _histogram,
        {"self": _unknown, "weight": _unknown},
        check=_check_histogram,
        node=NOT_IMPLEMENTED,
    ),
)


def _rows(array: Array) -> Any:
    _require(array.ndim >= 2, "input tensor should have at least 2 dimensions")
    return array.reshape(-1, array.shape[-1])


def _histogramdd(xp: Namespace, array: Array, bins: Any, bounds: Any, weight: Any, density: bool) -> tuple[Any, Any]:
    points = _rows(array)
    width = points.shape[1]
    sizes = (bins,) * width if isinstance(bins, int) else bins
    if len(sizes) != width:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    edges = _even_edges(xp, points, sizes, bounds)
    return _count(xp, points, edges, weight, density), edges


def _histogramdd_with_edges(
    xp: Namespace, array: Array, bins: Any, bounds: Any, weight: Any, density: bool
) -> tuple[Any, Any]:
    points = _rows(array)
    if len(bins) != points.shape[1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check_edges(bins)
    return _count(xp, points, list(bins), weight, density), list(bins)


_MORE = "float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)"
publish(
    Op(f"histogramdd(Tensor self, int[] bins, {_MORE}", _histogramdd, check=_check_histogram),
    Op(f"histogramdd.int_bins(Tensor self, int bins, {_MORE}", _histogramdd, check=_check_histogram),
    Op(
        f"histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {_MORE}",
        _histogramdd_with_edges,
        check=_check_histogram,
    ),
    method=False,
)


describe(
    bincount="How often each number occurs in a vector of whole numbers that are not negative; `weights` are "
    "summed instead.",
    histc="How many elements lie in each of `bins` equal intervals from `min` to `max`.",
    histogram="How many elements, or how much weight, lie in each bin: `(hist, bin_edges)`.",
    histogramdd="The histogram of points in several dimensions: `(hist, bin_edges)`.",
)
