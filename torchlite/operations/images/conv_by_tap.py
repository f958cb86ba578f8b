"""Convolutions of what is infinite or NaN: the zeros of padding, and of cells between rows, must not meet it.

So they go tap by tap, and leave out what a tap reads for no window or outside of the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.values import Array, Backend
from ..products.matmul import product

if TYPE_CHECKING:
    from ..making.windows import Ints
    from .conv_kernels import Sliding


def finite(backend: Backend, *arrays: Any) -> bool:
    """Whether all numbers are, and not too large to be added up; where there are none, they are taken to be."""
    return not backend.values or all([bool(backend.xp.isfinite(a.sum())) for a in arrays])


def _reads(backend: Backend, w: Sliding) -> Iterator[tuple[int, slice, Any]]:
    """For each tap its phase, the stretch of that which it reads, and for which cells this is of the image."""
    xp = backend.xp
    image = w.split(xp, xp.ones((1, 1, *w.size), bool))[0, 0]
    windows = xp.zeros(w.length, bool)
    w.shown(backend, windows)[...] = True
    for phase, shift in w.taps:
        stretch = slice(shift, shift + w.length)
        yield phase, stretch, windows & image[phase, stretch]


def _factors(weight: Any, groups: int, w: Sliding) -> Any:
    out, c = weight.shape[:2]
    return weight.reshape((groups, out // groups, c, len(w.taps)))


def correlate_by_tap(backend: Backend, x: Array, weight: Array, w: Sliding, groups: int) -> Any:
    """The convolution of images (n, channels, *size): (n, out, *count)."""
    xp = backend.xp
    source, factors = w.split(xp, x).swapaxes(0, 1), _factors(weight, groups, w)
    total = xp.zeros((weight.shape[0], x.shape[0], w.length), x.dtype)
    for tap, (phase, stretch, kept) in enumerate(_reads(backend, w)):
        read = source[:, :, phase, stretch].reshape((groups, factors.shape[2], -1))
        total += xp.where(kept, product(xp, factors[..., tap], read).reshape(total.shape), 0)
    return w.shown(backend, total).swapaxes(0, 1)


def spread_back_by_tap(backend: Backend, g: Array, weight: Array, w: Sliding, groups: int) -> Any:
    """The transpose of that with respect to the images."""
    xp = backend.xp
    n, c, factors = g.shape[0], weight.shape[1] * groups, _factors(weight, groups, w)
    phases = xp.zeros((n, c, w.phases, w.cells), g.dtype)
    rows = w.lined(backend, g).reshape((groups, factors.shape[1], -1))
    for tap, (phase, stretch, kept) in enumerate(_reads(backend, w)):
        made = product(xp, factors[..., tap].swapaxes(1, 2), rows).reshape((c, n, w.length))
        phases.swapaxes(0, 1)[:, :, phase, stretch] += xp.where(kept, made, 0)
    return w.join(xp, phases)


def of_weight_by_tap(backend: Backend, g: Array, x: Array, shape: Ints, w: Sliding, groups: int) -> Any:
    """The transpose with respect to the weights, which have this shape."""
    xp = backend.xp
    source, lines = w.split(xp, x).swapaxes(0, 1), w.lined(backend, g)
    made = []
    for phase, stretch, kept in _reads(backend, w):
        rows = xp.where(kept, lines, 0).reshape((groups, shape[0] // groups, -1))
        read = xp.where(kept, source[:, :, phase, stretch], 0).reshape((groups, shape[1], -1))
        made.append(product(xp, rows, read.swapaxes(1, 2)))
    return xp.stack(made, -1).reshape(shape)
