"""Windows over images: convolutions as one product over the whole batch, and the largest values of pools.

A thread makes one number, and finds out where in the image it lies from the description of the windows that comes with
the launch. Gradients of pixels are gathered, so that their sums have one order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import cupy
import numpy as np

from ...kernels.windows import steps, transposed_size
from .raw import Templates, rows_of_one_type

_ROOM = 1 << 28  # bytes that the columns of a convolution may take

_SOURCE = r"""
struct Windows { int size[3], count[3], window[3], stride[3], padding[3], dilation[3]; };

__device__ long long product(const int* n) { return (long long)n[0] * n[1] * n[2]; }

// Takes an index apart: that of the plane stays.
__device__ void split(long long& index, const int* sizes, int* at) {
    for (int d = 2; d >= 0; d--) { at[d] = index % sizes[d]; index /= sizes[d]; }
}

// Where a window's tap lies within its image; -1 beyond it.
__device__ long long reached(const Windows& w, const int* window, const int* tap) {
    long long place = 0;
    for (int d = 0; d < 3; d++) {
        const int at = window[d] * w.stride[d] - w.padding[d] + tap[d] * w.dilation[d];
        if (at < 0 || at >= w.size[d]) return -1;
        place = place * w.size[d] + at;
    }
    return place;
}

// The window of which a tap lies on this pixel; -1 where there is none.
__device__ long long reaching(const Windows& w, const int* pixel, const int* tap, int* window) {
    long long place = 0;
    for (int d = 0; d < 3; d++) {
        const int from = pixel[d] + w.padding[d] - tap[d] * w.dilation[d];
        if (from < 0 || from % w.stride[d] || from / w.stride[d] >= w.count[d]) return -1;
        window[d] = from / w.stride[d];
        place = place * w.count[d] + window[d];
    }
    return place;
}

#define EACH_TAP(tap) \
    for (tap[0] = 0; tap[0] < w.window[0]; tap[0]++) for (tap[1] = 0; tap[1] < w.window[1]; tap[1]++) \
        for (tap[2] = 0; tap[2] < w.window[2]; tap[2]++)
#define INDEX(at) \
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; \
    if (at >= total) return;

// What the taps read, (channels, taps, images, windows), from images (images, channels, pixels).
template <typename T>
__global__ void columns(const T* x, T* y, long long total, long long images, long long channels, const Windows w) {
    INDEX(at)
    long long left = at;
    int window[3], tap[3];
    split(left, w.count, window);
    const long long image = left % images;
    left /= images;
    split(left, w.window, tap);
    const long long place = reached(w, window, tap);
    y[at] = place < 0 ? T(0) : x[(image * channels + left) * product(w.size) + place];
}

// The transpose: images from columns.
template <typename T>
__global__ void pixels(const T* y, T* x, long long total, long long images, long long channels, const Windows w) {
    INDEX(at)
    long long plane = at;
    int pixel[3], tap[3], window[3];
    split(plane, w.size, pixel);
    const long long image = plane / channels, windows = product(w.count);
    const T* from = y + (plane % channels * product(w.window) * images + image) * windows;
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reaching(w, pixel, tap, window);
        if (place >= 0) sum += from[place];
        from += images * windows;
    }
    x[at] = sum;
}

// Where in its plane the largest value of a window is: the first, but of several NaN the last.
template <typename T> __device__ long long largest(const T* plane, const Windows& w, const int* window) {
    long long found = -1;
    int tap[3];
    EACH_TAP(tap) {
        const long long place = reached(w, window, tap);
        if (place >= 0 && (found < 0 || plane[place] > plane[found] || plane[place] != plane[place])) found = place;
    }
    return found;
}

template <typename T>
__global__ void max_pool(const T* x, T* y, T* again, long long* places, long long total, const Windows w) {
    INDEX(at)
    long long plane = at;
    int window[3];
    split(plane, w.count, window);
    x += plane * product(w.size);
    const long long found = largest(x, w, window);
    y[at] = found < 0 ? T(-INFINITY) : x[found];
    if (again) again[at] = y[at];
    if (places) places[at] = found;
}

// Where a value that was found largest is.
template <typename T> __device__ long long place_of(T best, const T* plane, const Windows& w, const int* window) {
    long long found = -1;
    int tap[3];
    EACH_TAP(tap) {
        const long long place = reached(w, window, tap);
        if (place < 0) continue;
        const T value = plane[place];
        if (best != best ? value != value : found < 0 && value == best) found = place;
    }
    return found;
}

template <typename T>
__global__ void max_pool_backward(const T* g, const T* x, const T* best, T* y, long long total, const Windows w) {
    INDEX(at)
    long long plane = at;
    int pixel[3], tap[3], window[3];
    split(plane, w.size, pixel);
    const long long here = at - plane * product(w.size), first = plane * product(w.count);
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reaching(w, pixel, tap, window);
        if (place >= 0 && place_of(best[first + place], x + at - here, w, window) == here) sum += g[first + place];
    }
    y[at] = sum;
}
"""
_kernels = Templates(_SOURCE, (("columns", ""), ("pixels", ""), ("max_pool", ""), ("max_pool_backward", "")))
_THREADS = 256
_NAMES = ("size", "count", "window", "stride", "padding", "dilation")
_WINDOWS = np.dtype([(name, np.int32, 3) for name in _NAMES])
Ints = Sequence[int]


def _launch(name: str, dtype: Any, total: int, *given: Any) -> None:
    if total:
        _kernels.launch(name, dtype, -(-total // _THREADS), (_THREADS,), given)


def _windows(*numbers: Ints) -> Any:
    """The description of windows, for as many dimensions as kernels have."""
    made = np.ones((), _WINDOWS)
    made["padding"] = 0
    for name, values in zip(_NAMES, numbers):
        made[name][3 - len(values) :] = values
    return made


# ---- convolutions


class _Convolution:
    """A convolution of images `large`, and its transpose, which makes these of `small`."""

    def __init__(self, channels: int, large: Ints, small: Ints, weight: Any, options: tuple[Ints, ...], groups: int):
        self.channels, self.large, self.small, self.groups = channels, tuple(large), tuple(small), groups
        self.windows = _windows(large, small, weight.shape[2:], *options)
        self.places = math.prod(small)
        self.taps = channels * math.prod(weight.shape[2:])
        self.matrices = weight.reshape((groups, len(weight) // groups, -1))
        self.out = len(weight)

    def parts(self, n: int, itemsize: int) -> Iterator[slice]:
        """Images whose columns have room at once."""
        some = max(1, _ROOM // max(1, self.taps * self.places * itemsize))
        for start in range(0, n, some):
            yield slice(start, min(start + some, n))

    def columns(self, x: Any) -> Any:
        """What the taps read, as one matrix a group."""
        made = cupy.empty((self.groups, self.taps // self.groups, len(x) * self.places), x.dtype)
        _launch("columns", x.dtype, made.size, x, made, made.size, len(x), self.channels, self.windows)
        return made

    def rows(self, g: Any) -> Any:
        """Values for all windows, (images, out, places), as one matrix a group."""
        swapped = g.reshape((len(g), self.out, self.places)).swapaxes(0, 1)
        return cupy.ascontiguousarray(swapped).reshape((self.groups, self.out // self.groups, -1))

    def forward(self, x: Any, bias: Any) -> Any:
        made = cupy.empty((len(x), self.out, *self.small), x.dtype)
        for part in self.parts(len(x), x.itemsize):
            product = _product(self.matrices, self.columns(x[part])).reshape((self.out, -1, *self.small))
            target, moved = made[part], product.swapaxes(0, 1)
            if bias is None:
                target[...] = moved
            else:
                cupy.add(moved, bias.reshape((-1, *(1,) * len(self.small))), target)
        return made

    def of_images(self, g: Any) -> Any:
        made = cupy.empty((len(g), self.channels, *self.large), g.dtype)
        transposed = self.matrices.swapaxes(1, 2)
        for part in self.parts(len(g), g.itemsize):
            target, product = made[part], cupy.ascontiguousarray(_product(transposed, self.rows(g[part])))
            _launch("pixels", g.dtype, target.size, product, target, target.size, len(target), self.channels,
                    self.windows)  # fmt: skip
        return made

    def of_weight(self, g: Any, x: Any) -> Any:
        total = None
        for part in self.parts(len(g), g.itemsize):
            made = _product(self.rows(g[part]), self.columns(x[part]).swapaxes(1, 2))
            total = made if total is None else total + made
        return total


def _product(a: Any, b: Any) -> Any:
    return cupy.matmul(a[0], b[0])[None] if len(a) == 1 else cupy.matmul(a, b)


def _convolved(
    x: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, more: Ints, groups: int
) -> _Convolution:
    geometry, size = (weight.shape[2:], stride, padding, dilation), x.shape[2:]
    options = (stride, padding, dilation)
    if transposed:
        large = tuple(map(transposed_size, size, *geometry, more))
        return _Convolution(weight.shape[1] * groups, large, size, weight, options, groups)
    return _Convolution(x.shape[1], size, tuple(map(steps, size, *geometry)), weight, options, groups)


def _convolution(x: Any, weight: Any, bias: Any, *options: Any) -> Any:
    if not rows_of_one_type(x, weight, bias) or not weight.size:
        return NotImplemented
    transposed = options[3]
    made = _convolved(x, weight, *options)
    if not transposed:
        return made.forward(x, bias)
    images = made.of_images(x)
    if bias is not None:
        images += bias.reshape((-1, *(1,) * (images.ndim - 2)))
    return images


def _convolution_backward(g: Any, x: Any, weight: Any, bias_sizes: Any, *options: Any) -> Any:
    *geometry, mask = options
    if not rows_of_one_type(x, weight) or not weight.size or g.dtype != x.dtype:
        return NotImplemented
    transposed = options[3]
    made, g = _convolved(x, weight, *geometry), cupy.ascontiguousarray(g)
    of_input = of_weight = of_bias = None
    if mask[0]:
        of_input = made.forward(g, None) if transposed else made.of_images(g)
    if mask[1]:
        of_weight = made.of_weight(*((x, g) if transposed else (g, x))).reshape(weight.shape)
    if mask[2]:
        of_bias = g.sum((0, *range(2, g.ndim)))
    return of_input, of_weight, of_bias


# ---- pools


def _pool(x: Any, window: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> tuple[Any, Any]:
    """The windows, and the shape of what they give."""
    n = len(window)
    size = x.shape[x.ndim - n :]
    count = tuple([steps(*numbers, ceil_mode) for numbers in zip(size, window, stride, padding, dilation)])
    return _windows(size, count, window, stride, padding, dilation), (*x.shape[: x.ndim - n], *count)


def _max_pool(x: Any, *options: Any) -> Any:
    if not rows_of_one_type(x):
        return NotImplemented
    windows, shape = _pool(x, *options)
    made, again = cupy.empty((2, *shape), x.dtype)
    _launch("max_pool", x.dtype, made.size, x, made, again, None, made.size, windows)
    return made, again


def _max_pool_with_indices(x: Any, *options: Any) -> Any:
    if not rows_of_one_type(x):
        return NotImplemented
    windows, shape = _pool(x, *options)
    made, places = cupy.empty(shape, x.dtype), cupy.empty(shape, np.int64)
    _launch("max_pool", x.dtype, made.size, x, made, None, places, made.size, windows)
    return made, places


def _max_pool_backward(g: Any, x: Any, best: Any, *options: Any) -> Any:
    if not rows_of_one_type(x, best) or g.dtype != x.dtype:
        return NotImplemented
    windows, _ = _pool(x, *options)
    made = cupy.empty_like(x)
    _launch("max_pool_backward", x.dtype, x.size, cupy.ascontiguousarray(g), x, best, made, x.size, windows)
    return made


KERNELS: dict[str, Any] = {"convolution": _convolution, "convolution_backward": _convolution_backward}
for _d in (2, 3):
    KERNELS[f"max_pool{_d}d"] = _max_pool
    KERNELS[f"max_pool{_d}d_with_indices"] = _max_pool_with_indices
    KERNELS[f"_max_pool{_d}d_backward"] = _max_pool_backward
