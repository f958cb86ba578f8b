"""Windows that slide over the last dimensions of an array: where each tap of a window reads, and how many there are."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

from ...core.values import Backend, channels_last_strides, contiguous_strides

Ints = tuple[int, ...]


def spread(value: Sequence[int], n: int) -> Ints:
    """One number for each dimension, where one may stand for all."""
    return tuple(value) * n if len(value) == 1 else tuple(value)


@functools.lru_cache(1024)
def along(size: int, count: int, window: int, stride: int, padding: int, dilation: int) -> tuple[Any, ...]:
    """For each tap of a window, in one dimension: which of the windows it lies in the image for, and where there."""
    found = []
    for tap in range(window):
        start = tap * dilation - padding
        low = min(max(0, -(start // stride)), count)
        high = max(low, min(count, (size - 1 - start) // stride + 1))
        first = start + low * stride
        last = first + (high - low - 1) * stride
        found.append((slice(low, high), slice(first, last + 1 if high > low else first, stride)))
    return tuple(found)


@functools.lru_cache(256)
def taps(sizes: Ints, counts: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints) -> tuple[Any, ...]:
    """The same in several dimensions: pairs of indices, among the windows and in the image, in row-major order."""
    dims = [along(*numbers) for numbers in zip(sizes, counts, window, stride, padding, dilation, strict=True)]
    return tuple([
        ((..., *[into for into, _ in tap]), (..., *[source for _, source in tap])) for tap in itertools.product(*dims)
    ])  # fmt: skip


# ---- memory formats


def channels_inside(shape: Ints, strides: Ints) -> bool:
    """Whether PyTorch takes an image of four or five dimensions with these strides for one in channels-last format."""
    ndim = len(shape)
    if ndim not in (4, 5) or not strides[1]:
        return False
    least = 0
    for d in (1, *range(ndim - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def keeps_channels_inside(backend: Backend, *arrays: Any) -> bool:
    """Whether one of these images is in channels-last format."""
    return backend.strided and any([
        a.ndim in (4, 5) and (1 in a.shape or not a.flags.c_contiguous) and channels_inside(a.shape, backend.strides(a))
        for a in arrays
    ])  # fmt: skip


def image(backend: Backend, shape: Ints, dtype: Any, inside: bool) -> Any:
    """A new image, in channels-last format if that is asked for."""
    if not inside:
        return backend.empty(shape, dtype)
    return backend.empty_strided(shape, channels_last_strides(shape), dtype)


def like(backend: Backend, result: Any, *images: Any) -> Any:
    """The result in the memory format of an image that it was computed from."""
    inside = result.ndim in (4, 5) and keeps_channels_inside(backend, *images)
    wanted = channels_last_strides(result.shape) if inside else contiguous_strides(result.shape)
    return backend.ordered(result, wanted)
