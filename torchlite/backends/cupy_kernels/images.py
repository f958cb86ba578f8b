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
from .products import product
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

// Where the columns of an image, and the rows within them, begin.
struct Steps { long long image, row; };

// What the taps read, a row for each channel and tap, from images (images, channels, pixels). Values for the windows,
// (images, rows, windows), are laid behind each other by rows in the same launch, where they are given.
template <typename S>
__global__ void columns(const S* x, S* y, const S* g, S* rows, long long total, long long moved, long long images,
                        long long channels, const Steps steps, const Windows w) {
    const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x, windows = product(w.count);
    if (at >= total + moved) return;
    long long left = at < total ? at : at - total;
    if (at >= total) {
        const long long image = left / windows % images, row = left / windows / images;
        rows[left] = g[(image * (moved / (images * windows)) + row) * windows + left % windows];
        return;
    }
    int window[3], tap[3];
    split(left, w.count, window);
    const long long image = left % images, row = left / images, place_of_row = at % windows;
    left = row;
    split(left, w.window, tap);
    const long long place = reached(w, window, tap);
    S& made = y[image * steps.image + row * steps.row + place_of_row];
    if (place < 0) made = 0;
    else made = x[(image * channels + left) * product(w.size) + place];
}

// The transpose: images from columns.
template <typename S, typename T = SUM(S)>
__global__ void pixels(const S* y, S* x, long long total, long long channels, const Steps steps, const Windows w) {
    INDEX(at)
    long long plane = at;
    int pixel[3], tap[3], window[3];
    split(plane, w.size, pixel);
    const S* from = y + plane / channels * steps.image + plane % channels * product(w.window) * steps.row;
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reaching(w, pixel, tap, window);
        if (place >= 0) sum += from[place];
        from += steps.row;
    }
    x[at] = sum;
}

// Which tap finds the largest value of a window, and where: the first, but of several NaN the last.
template <typename S>
__device__ int largest(const S* plane, const Windows& w, const int* window, long long& found) {
    int number = 0, best = 0, tap[3];
    found = -1;
    EACH_TAP(tap) {
        const long long place = reached(w, window, tap);
        if (place >= 0 && (found < 0 || plane[place] > plane[found] || plane[place] != plane[place])) {
            found = place;
            best = number;
        }
        number++;
    }
    return best;
}

// Taps are numbered in the type that has room for them.
template <typename S, typename N>
__global__ void max_pool(const S* x, S* y, N* taps, long long* places, long long total, const Windows w) {
    INDEX(at)
    long long plane = at, found;
    int window[3];
    split(plane, w.count, window);
    x += plane * product(w.size);
    const int best = largest(x, w, window, found);
    if (found < 0) y[at] = -INFINITY;
    else y[at] = x[found];
    if (taps) taps[at] = best;
    if (places) places[at] = found;
}

template <typename S, typename N, typename T = SUM(S)>
__global__ void max_pool_backward(const S* g, const N* taps, S* y, long long total, const Windows w) {
    INDEX(at)
    long long plane = at;
    int pixel[3], tap[3], window[3], number = 0;
    split(plane, w.size, pixel);
    const long long first = plane * product(w.count);
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reaching(w, pixel, tap, window);
        if (place >= 0 && taps[first + place] == number) sum += g[first + place];
        number++;
    }
    y[at] = sum;
}

// What the sum of a window is divided by: a number that is given, or how many pixels it has, `padded` ones included.
__device__ long long shares(const Windows& w, const int* window, long long given, int padded) {
    long long n = 1;
    for (int d = 0; d < 3 && !given; d++) {
        int start = window[d] * w.stride[d] - w.padding[d], stop = min(start + w.window[d], w.size[d] + w.padding[d]);
        n *= padded ? stop - start : min(stop, w.size[d]) - max(start, 0);
    }
    return given ? given : n;
}

template <typename S, typename T = SUM(S)>
__global__ void avg_pool(const S* x, S* y, long long total, long long divisor, int padded, const Windows w) {
    INDEX(at)
    long long plane = at;
    int window[3], tap[3];
    split(plane, w.count, window);
    x += plane * product(w.size);
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reached(w, window, tap);
        if (place >= 0) sum += x[place];
    }
    y[at] = sum / T(shares(w, window, divisor, padded));
}

template <typename S, typename T = SUM(S)>
__global__ void avg_pool_backward(const S* g, S* y, long long total, long long divisor, int padded, const Windows w) {
    INDEX(at)
    long long plane = at;
    int pixel[3], tap[3], window[3];
    split(plane, w.size, pixel);
    g += plane * product(w.count);
    T sum = 0;
    EACH_TAP(tap) {
        const long long place = reaching(w, pixel, tap, window);
        if (place >= 0) sum += g[place] / T(shares(w, window, divisor, padded));
    }
    y[at] = sum;
}

// The largest value of windows that share an image out as evenly as can be, and where it lies.
template <typename S>
__global__ void adaptive_max_pool(const S* x, S* y, long long* places, long long total, const Windows w) {
    INDEX(at)
    long long plane = at, found = -1;
    int window[3], start[3], stop[3], p[3];
    split(plane, w.count, window);
    x += plane * product(w.size);
    for (int d = 0; d < 3; d++) {
        start[d] = (long long)window[d] * w.size[d] / w.count[d];
        stop[d] = ((long long)(window[d] + 1) * w.size[d] + w.count[d] - 1) / w.count[d];
    }
    for (p[0] = start[0]; p[0] < stop[0]; p[0]++) for (p[1] = start[1]; p[1] < stop[1]; p[1]++)
        for (p[2] = start[2]; p[2] < stop[2]; p[2]++) {
            const long long place = ((long long)p[0] * w.size[1] + p[1]) * w.size[2] + p[2];
            if (found < 0 || x[place] > x[found] || x[place] != x[place]) found = place;
        }
    y[at] = x[found];
    places[at] = found;
}
"""
_FEW, _MANY = ", unsigned char", ", int"  # what taps are numbered in
_kernels = Templates(
    _SOURCE,
    (
        ("columns", ""), ("pixels", ""), ("avg_pool", ""), ("avg_pool_backward", ""), ("adaptive_max_pool", ""),
        ("max_pool", _FEW), ("max_pool", _MANY), ("max_pool_backward", _FEW), ("max_pool_backward", _MANY),
    ),
)  # fmt: skip
_THREADS = 256
_NAMES = ("size", "count", "window", "stride", "padding", "dilation")
_WINDOWS = np.dtype([(name, np.int32, 3) for name in _NAMES])
_STEPS = np.dtype([("image", np.int64), ("row", np.int64)])
Ints = Sequence[int]


def _launch(name: str, dtype: Any, total: int, *given: Any, more: str = "") -> None:
    if total:
        _kernels.launch(name, dtype, -(-total // _THREADS), (_THREADS,), given, more)


def _windows(*numbers: Ints) -> Any:
    """The description of windows, for as many dimensions as kernels have."""
    made = np.ones((), _WINDOWS)
    made["padding"] = 0
    for name, values in zip(_NAMES, numbers):
        made[name][3 - len(values) :] = values
    return made


# ---- convolutions


class _Convolution:
    """A convolution of images `large`, and its transpose, which makes these of `small`.

    Of one group, the columns of every image are multiplied by themselves, and the product is an image; of several,
    those of all images lie behind each other, since matrices can only be batched in one way.
    """

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

    def steps(self, n: int, apart: bool) -> Any:
        """How columns lie: those of images apart, or behind each other."""
        return np.array((self.taps * self.places, self.places) if apart else (self.places, n * self.places), _STEPS)

    def columns(self, x: Any, apart: bool, g: Any = None) -> tuple[Any, Any]:
        """What the taps read, as one matrix an image or a group, and `g` as one of a group."""
        n, moved, rows = len(x), 0, None
        made = cupy.empty((n, self.taps, self.places) if apart else (self.taps, n * self.places), x.dtype)
        if g is not None:
            rows = g.reshape((self.out, -1))
            if n > 1:
                rows, moved = cupy.empty((self.out, n * self.places), g.dtype), g.size
        _launch("columns", x.dtype, made.size + moved, x, made, g, rows, made.size, moved, n, self.channels,
                self.steps(n, apart), self.windows)  # fmt: skip
        return made if apart else self.grouped(made), None if rows is None else self.grouped(rows)

    def grouped(self, rows: Any) -> Any:
        return rows.reshape((self.groups, len(rows) // self.groups, -1))

    def forward(self, x: Any, bias: Any) -> Any:
        made = cupy.empty((len(x), self.out, *self.small), x.dtype)
        one, shape = self.groups == 1, (-1, *(1,) * len(self.small))
        for part in self.parts(len(x), x.itemsize):
            columns, _ = self.columns(x[part], one)
            if one:
                product(self.matrices[0], columns, made[part].reshape((-1, self.out, self.places)))
                continue
            moved = product(self.matrices, columns).reshape((self.out, -1, *self.small)).swapaxes(0, 1)
            made[part] = moved
        return made if bias is None else cupy.add(made, bias.reshape(shape), made)

    def of_images(self, g: Any) -> Any:
        made = cupy.empty((len(g), self.channels, *self.large), g.dtype)
        transposed, one = self.matrices.swapaxes(1, 2), self.groups == 1
        for part in self.parts(len(g), g.itemsize):
            target, given = made[part], g[part].reshape((-1, self.out, self.places))
            if one:
                columns = product(transposed[0], given)
            else:
                columns = product(transposed, self.grouped(cupy.ascontiguousarray(given.swapaxes(0, 1))))
            _launch("pixels", g.dtype, target.size, columns, target, target.size, self.channels,
                    self.steps(len(target), one), self.windows)  # fmt: skip
        return made

    def of_weight(self, g: Any, x: Any) -> Any:
        total = None
        for part in self.parts(len(g), g.itemsize):
            columns, rows = self.columns(x[part], False, g[part])
            made = product(rows, columns.swapaxes(1, 2))
            total = made if total is None else total + made
        return total


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
    n, stride = len(window), stride or window
    size = x.shape[x.ndim - n :]
    count = tuple([steps(*numbers, ceil_mode) for numbers in zip(size, window, stride, padding, dilation)])
    return _windows(size, count, window, stride, padding, dilation), (*x.shape[: x.ndim - n], *count)


def _max_pool(x: Any, *options: Any) -> Any:
    if not rows_of_one_type(x):
        return NotImplemented
    windows, shape = _pool(x, *options)
    few = math.prod(options[0]) < 256
    made, taps = cupy.empty(shape, x.dtype), cupy.empty(shape, np.uint8 if few else np.int32)
    _launch("max_pool", x.dtype, made.size, x, made, taps, None, made.size, windows, more=_FEW if few else _MANY)
    return made, taps


def _max_pool_with_indices(x: Any, *options: Any) -> Any:
    if not rows_of_one_type(x):
        return NotImplemented
    windows, shape = _pool(x, *options)
    made, places = cupy.empty(shape, x.dtype), cupy.empty(shape, np.int64)
    _launch("max_pool", x.dtype, made.size, x, made, None, places, made.size, windows, more=_FEW)
    return made, places


def _max_pool_backward(g: Any, x: Any, taps: Any, *options: Any) -> Any:
    if not rows_of_one_type(x) or g.dtype != x.dtype or not taps.flags.c_contiguous:
        return NotImplemented
    windows, _ = _pool(x, *options)
    made = cupy.empty_like(x)
    more = _FEW if taps.dtype == np.uint8 else _MANY
    _launch("max_pool_backward", x.dtype, x.size, cupy.ascontiguousarray(g), taps, made, x.size, windows, more=more)
    return made


def _avg_pool(
    x: Any, window: Ints, stride: Ints, padding: Ints, ceil_mode: bool, padded: bool, divisor: int | None
) -> Any:  # fmt: skip
    if not rows_of_one_type(x):
        return NotImplemented
    windows, shape = _pool(x, window, stride, padding, (1,) * len(window), ceil_mode)
    made = cupy.empty(shape, x.dtype)
    _launch("avg_pool", x.dtype, made.size, x, made, made.size, divisor or 0, np.int32(padded), windows)
    return made


def _avg_pool_backward(
    g: Any, x: Any, window: Ints, stride: Ints, padding: Ints, ceil_mode: bool, padded: bool, divisor: int | None
) -> Any:  # fmt: skip
    if not rows_of_one_type(x) or g.dtype != x.dtype:
        return NotImplemented
    windows, shape = _pool(x, window, stride, padding, (1,) * len(window), ceil_mode)
    if g.shape != shape:
        return NotImplemented
    made, g = cupy.empty_like(x), cupy.ascontiguousarray(g)
    _launch("avg_pool_backward", x.dtype, x.size, g, made, x.size, divisor or 0, np.int32(padded), windows)
    return made


def _even(x: Any, count: Ints) -> tuple[Ints, Ints] | None:
    """The windows that an image is shared out in, and the steps between them, if all are of one size."""
    size = x.shape[x.ndim - len(count) :]
    fits = all([n and not length % n for length, n in zip(size, count)])
    return (tuple([length // n for length, n in zip(size, count)]),) * 2 if fits else None


def _adaptive_avg_pool(x: Any, count: Ints) -> Any:
    even = _even(x, count)
    return NotImplemented if even is None else _avg_pool(x, *even, (0,) * len(count), False, True, None)


def _adaptive_avg_pool_backward(n: int) -> Any:
    def backward(g: Any, x: Any) -> Any:
        even = _even(x, g.shape[g.ndim - n :])
        return NotImplemented if even is None else _avg_pool_backward(g, x, *even, (0,) * n, False, True, None)

    return backward


def _adaptive_max_pool(x: Any, count: Ints) -> Any:
    if not rows_of_one_type(x):
        return NotImplemented
    n = x.ndim - len(count)
    shape = (*x.shape[:n], *count)
    made, places = cupy.empty(shape, x.dtype), cupy.empty(shape, np.int64)
    _launch("adaptive_max_pool", x.dtype, made.size, x, made, places, made.size, _windows(x.shape[n:], count))
    return made, places


KERNELS: dict[str, Any] = {"convolution": _convolution, "convolution_backward": _convolution_backward}
for _d in (2, 3):
    KERNELS[f"avg_pool{_d}d"] = _avg_pool
    KERNELS[f"avg_pool{_d}d_backward"] = _avg_pool_backward
    KERNELS[f"_adaptive_avg_pool{_d}d"] = _adaptive_avg_pool
    KERNELS[f"_adaptive_avg_pool{_d}d_backward"] = _adaptive_avg_pool_backward(_d)
    KERNELS[f"adaptive_max_pool{_d}d"] = _adaptive_max_pool
    KERNELS[f"max_pool{_d}d"] = _max_pool
    KERNELS[f"max_pool{_d}d_with_indices"] = _max_pool_with_indices
    KERNELS[f"_max_pool{_d}d_backward"] = _max_pool_backward
