"""Maxima and sums over windows, and what they are made from: arrays whose last dimensions are those of an image."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.values import Array, Backend, Namespace, contiguous_strides, or_own
from ...kernels.summing import widened
from ..making.windows import along, taps
from ..places.writing import combine

if TYPE_CHECKING:
    from ..making.windows import Ints

Geometry = tuple["Ints", "Ints", "Ints", "Ints", "Ints"]  # count, window, stride, padding and dilation


def over_windows(xp: Namespace, ufunc: Any, neutral: Any, x: Array, geometry: Geometry) -> Any:
    """The values of every window combined, one dimension after the other."""
    n = len(geometry[0])
    made = x
    for d in range(n - 1, -1, -1):
        axis = x.ndim - n + d
        count, window, stride, padding, dilation = [numbers[d] for numbers in geometry]
        if window > 1 or stride > 1 or padding:
            places = along(x.shape[axis], count, window, stride, padding, dilation)
            made = _along(xp, ufunc, neutral, made, axis, count, places)
    return made.copy() if made is x else made


def _along(xp: Namespace, ufunc: Any, neutral: Any, x: Array, axis: int, count: int, places: Sequence[Any]) -> Any:
    lead = (slice(None),) * axis
    whole = [x[(*lead, source)] for into, source in places if into.stop - into.start == count]
    if len(whole) > 1:
        made = ufunc(whole[0], whole[1])
    elif whole:
        made = whole[0].copy()
    else:
        made = xp.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), neutral, x.dtype)
    for part in whole[2:]:
        ufunc(made, part, out=made)
    for into, source in places:
        if 0 < into.stop - into.start < count:
            part = made[(*lead, into)]
            ufunc(part, x[(*lead, source)], out=part)
    return made


def lowest(xp: Namespace, dtype: Any) -> Any:
    return -math.inf if dtype.kind == "f" else xp.iinfo(dtype).min


def maxima_and_taps(backend: Backend, x: Array, geometry: Geometry) -> tuple[Any, Any]:
    """The largest value of every window, and which of its taps found it: the first, but of several NaN the last."""
    xp = backend.xp
    x = widened(x)
    best = over_windows(xp, xp.maximum, lowest(xp, x.dtype), x, geometry)
    places = taps(x.shape[x.ndim - len(geometry[0]) :], *geometry)
    missing = xp.ones(best.shape, xp.uint8 if len(places) < 256 else xp.int32)
    number = xp.zeros(best.shape, missing.dtype)
    for into, source in places:
        left = missing[into]
        xp.multiply(left, x[source] != best[into], out=left)
        xp.add(number, missing, out=number)
    if x.dtype.kind == "f" and backend.values and xp.isnan(best).any().item():
        for tap, (into, source) in enumerate(places):
            part = number[into]
            part[xp.isnan(x[source])] = tap
    return best, number


def maxima_and_places(backend: Backend, x: Array, geometry: Geometry) -> tuple[Any, Any]:
    """The largest value of every window, and where in the flattened image it lies."""
    xp = backend.xp
    count, window, stride, padding, dilation = geometry
    n = len(count)
    best, number = maxima_and_taps(backend, x, geometry)
    rows = contiguous_strides(x.shape[x.ndim - n :])
    offsets = xp.zeros((1,) * n, xp.int64)
    place = xp.zeros((1,) * n, xp.int64)
    for d, row in enumerate(rows):
        shape = [-1 if d == other else 1 for other in range(n)]
        offsets = offsets + (xp.arange(window[d]) * (dilation[d] * row)).reshape(shape)
        place = place + ((xp.arange(count[d]) * stride[d] - padding[d]) * row).reshape(shape)
    return best, offsets.reshape(-1)[number] + place


def gradient_of_maxima(xp: Namespace, g: Array, shape: Ints, found: Any, geometry: Geometry) -> Array:
    """The gradient with respect to the image: each window's goes to where the tap that found its maximum has read."""
    wide = widened(g)
    made = xp.zeros(shape, wide.dtype)
    for tap, (into, source) in enumerate(taps(shape[len(shape) - len(geometry[0]) :], *geometry)):
        made[source] += xp.where(found[into] == tap, wide[into], 0)
    return made.astype(g.dtype, copy=False)


def best_of(xp: Namespace, cells: Array, places: Iterable[Any]) -> tuple[Any, Any]:
    """The largest of the values at some places of flattened images, and its place.

    Each item of `places` names one place for every window, the same for all images or for each its own.
    """
    wide = widened(cells)
    best: Any = None
    at: Any = None
    for place in places:
        value = wide.take(place, -1) if place.ndim == 1 else xp.take_along_axis(wide, place, -1)
        if best is None:
            best, at = value, xp.broadcast_to(place, value.shape)
        else:
            better = (value > best) | (value != value)
            best, at = xp.where(better, value, best), xp.where(better, place, at)
    return best.astype(cells.dtype, copy=False), at.copy()


@or_own
def put_in_images(xp: Namespace, values: Array, places: Array, size: Ints) -> Array:
    """Images of this size, zero but for values added at given places of each."""
    lead = values.shape[: values.ndim - len(size)]
    cells = math.prod(size)
    images = math.prod(lead)
    made = xp.zeros(images * cells, values.dtype)
    if values.size:
        flat = places.reshape((images, -1)) + xp.arange(0, images * cells, cells).reshape((-1, 1))
        combine(xp, "add", made, flat.reshape(-1), values.reshape(-1))
    return made.reshape((*lead, *size))


def picked(xp: Namespace, images: Array, places: Array, n: int) -> Array:
    """The values of images at given places of each."""
    lead = images.shape[: images.ndim - n]
    cells = images.reshape((*lead, math.prod(images.shape[images.ndim - n :])))
    flat = places.reshape((*lead, math.prod(places.shape[places.ndim - n :])))
    return xp.take_along_axis(cells, flat, -1).reshape(places.shape)
