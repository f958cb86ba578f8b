"""Convolutions as products of matrices, for any number of dimensions.

The padded image is split into phases, by the remainders of its coordinates modulo the stride. In a phase, flattened,
what one tap of the kernel reads for all windows is one stretch of memory (with a few values between the rows that no
window wants). So the columns to multiply by are made of few long copies, block by block of bounded size.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.values import Array, Backend, Namespace, contiguous_strides
from ..making.windows import image
from ..products.matmul import product
from .conv_by_tap import correlate_by_tap, finite, of_weight_by_tap, spread_back_by_tap

if TYPE_CHECKING:
    from ..making.windows import Ints

_BLOCK = 1 << 18  # numbers in the columns of one block, which should stay in the processor's cache,
_WIDTH = 512  # unless there would be so few columns that the product of matrices is slow


class Sliding:
    """How a kernel slides over images of `size`, with `count` windows in each dimension."""

    def __init__(self, size: Ints, count: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
        self.size, self.count, self.kernel = size, count, kernel
        self.padding, self.dilation = padding, dilation
        reach = [(k - 1) * d for k, d in zip(kernel, dilation)]
        stride = tuple([s if n > 1 else min(s, r + 1) for s, n, r in zip(stride, count, reach)])  # a lone window stays
        self.grid = tuple([n + r // s for n, r, s in zip(count, reach, stride)])  # of one phase
        self.steps = contiguous_strides(self.grid)
        self.cells = math.prod(self.grid)
        # From the first to the last window, counted in cells.
        self.length = 1 + sum([(n - 1) * step for n, step in zip(count, self.steps)])
        self.stride = stride
        self.phases = math.prod(stride)
        self.padded = tuple([g * s for g, s in zip(self.grid, stride)])
        self.from_ = (..., *[slice(0, max(0, min(n, g - p))) for n, p, g in zip(size, padding, self.padded)])
        self.to = (..., *[slice(p, max(p, min(p + n, g))) for n, p, g in zip(size, padding, self.padded)])
        self.plain = self.padded == size and not any(padding)
        self.tap_steps = tuple([d * step for d, step in zip(dilation, self.steps)])
        phase_steps = contiguous_strides(stride)
        self.taps = []  # the phase in which each reads, and how far along in it
        for tap in itertools.product(*[range(0, r + 1, d) for r, d in zip(reach, dilation)]):
            phase = sum([(t % s) * step for t, s, step in zip(tap, stride, phase_steps)])
            self.taps.append((phase, sum([t // s * step for t, s, step in zip(tap, stride, self.steps)])))
        # Whether taps read zeros, in the padding or for cells that are no windows.
        self.zeros = any(padding) or self.length != math.prod(count)
        # Whether the phases are the columns as they stand.
        self.ready = self.taps == [(phase, 0) for phase in range(self.phases)]

    def split(self, xp: Namespace, images: Array) -> Array:
        """The phases of images (n, channels, *size), as (n, channels, phases, cells)."""
        n, c = images.shape[:2]
        if self.plain:
            padded = images
        else:
            padded = xp.zeros((n, c, *self.padded), images.dtype)
            padded[self.to] = images[self.from_]
        if self.phases > 1:
            padded = padded.reshape((n, c, *itertools.chain(*zip(self.grid, self.stride)))).transpose(self._order)
        return padded.reshape((n, c, self.phases, self.cells))

    def join(self, xp: Namespace, phases: Array) -> Any:
        """The images again, without what lies in the padding."""
        n, c = phases.shape[:2]
        if self.phases > 1:
            phases = phases.reshape((n, c, *self.stride, *self.grid)).transpose(self._inverse)
        padded = phases.reshape((n, c, *self.padded))
        if self.plain:
            return padded
        images = xp.zeros((n, c, *self.size), phases.dtype)
        images[self.from_] = padded[self.to]
        return images

    @functools.cached_property
    def _order(self) -> Ints:
        dims = range(len(self.grid))
        return (0, 1, *[3 + 2 * d for d in dims], *[2 + 2 * d for d in dims])

    @functools.cached_property
    def _inverse(self) -> Ints:
        n = len(self.grid)
        return (0, 1, *[at for d in range(n) for at in (2 + n + d, 2 + d)])

    @functools.cached_property
    def mirrored(self) -> Sliding | None:
        """How the kernel, turned round, slides over the windows' gradients to give those of the images."""
        padding = tuple([(k - 1) * d - p for k, d, p in zip(self.kernel, self.dilation, self.padding)])
        if self.phases > 1 or self.ready or min(padding) < 0:
            return None
        return sliding(self.count, self.size, self.kernel, self.stride, padding, self.dilation)

    def shown(self, backend: Backend, lines: Array) -> Any:
        """The windows among the cells of an array (…, length), as (…, *count)."""
        lead = contiguous_strides(lines.shape)[:-1]
        return backend.lay(lines, (*lines.shape[:-1], *self.count), (*lead, *self.steps))

    def lined(self, backend: Backend, images: Array) -> Any:
        """Values for all windows (n, channels, *count) as (channels, n, length), zero between the rows."""
        n, c = images.shape[:2]
        lines = backend.xp.zeros((c, n, self.length), images.dtype)
        self.shown(backend, lines)[...] = images.swapaxes(0, 1)
        return lines

    def blocks(self, n: int, channels: int) -> Iterator[tuple[slice, list[slice]]]:
        """Which images to take at once, and which stretches of their windows."""
        width = max(_WIDTH, _BLOCK // max(1, channels * len(self.taps)))
        together = max(1, min(n, width // self.length))
        longest = self.length if together > 1 else width
        stretches = [slice(at, min(at + longest, self.length)) for at in range(0, self.length, longest)]
        for at in range(0, n, together):
            yield slice(at, min(at + together, n)), stretches

    def room(self, xp: Namespace, n: int, channels: int, dtype: Any) -> Array:
        """Memory for the columns of a block."""
        some, stretches = next(self.blocks(n, channels))
        width = (some.stop - some.start) * (stretches[0].stop - stretches[0].start)
        return xp.empty(channels * len(self.taps) * width, dtype)

    def columns(self, backend: Backend, phases: Array, part: slice, room: Any) -> Any:
        """What the taps read for a stretch of windows, as (channels, taps, n, windows)."""
        n, c = phases.shape[:2]
        shape = (c, len(self.taps), n, part.stop - part.start)
        made = room[: math.prod(shape)].reshape(shape)
        if self.phases == 1:  # the taps lie at even distances
            image, channel, _, cell = backend.strides(phases)
            strides = (channel, *[step * cell for step in self.tap_steps], image, cell)
            read = backend.lay(phases, (c, *self.kernel, *shape[2:]), strides, part.start * cell)
            made.reshape(read.shape)[...] = read
            return made
        source = phases.swapaxes(0, 1)
        for tap, (phase, shift) in enumerate(self.taps):
            made[:, tap] = source[:, :, phase, shift + part.start : shift + part.stop]
        return made

    def add_columns(self, phases: Any, columns: Any, part: slice) -> None:
        """Add columns to where the taps read them from."""
        target = phases.swapaxes(0, 1)
        for tap, (phase, shift) in enumerate(self.taps):
            target[:, :, phase, shift + part.start : shift + part.stop] += columns[:, tap]


sliding = functools.lru_cache(256)(Sliding)


def _matrices(weight: Any, groups: int) -> Any:
    """The weights (out, in of a group, *kernel) as one matrix a group."""
    return weight.reshape((groups, weight.shape[0] // groups, math.prod(weight.shape[1:])))


def _mirrored(weight: Any, groups: int) -> Any:
    """The weights with input and output exchanged and every kernel turned round."""
    out, c, *kernel = weight.shape
    turned = weight[(..., *[slice(None, None, -1)] * len(kernel))].reshape((groups, out // groups, c, *kernel))
    return turned.swapaxes(1, 2).reshape((groups * c, out // groups, *kernel))


def _thin(weight: Any, groups: int) -> bool:
    """Whether products of matrices would be of single rows: each channel by itself."""
    return groups > 1 and weight.shape[1] == 1 and weight.shape[0] <= 2 * groups


def correlate(backend: Backend, x: Array, weight: Array, bias: Any, w: Sliding, groups: int, inside: bool) -> Any:
    """The convolution of images (n, channels, *size): (n, out, *count)."""
    xp = backend.xp
    (n, c), out = x.shape[:2], weight.shape[0]
    result = image(backend, (n, out, *w.count), x.dtype, inside)
    if not result.size:
        return result
    offset = 0 if bias is None else bias.reshape((out, *(1,) * len(w.count)))
    if any(w.padding) and not finite(backend, weight):
        result[...] = correlate_by_tap(backend, x, weight, w, groups) + offset
        return result
    matrices = _matrices(weight, groups)
    room = w.room(xp, n, c, x.dtype)
    for some, stretches in w.blocks(n, c):
        phases = w.split(xp, x[some])
        many = phases.shape[0]
        if _thin(weight, groups):
            made = w.shown(backend, _by_channel(xp, phases, weight, w, groups))
        elif w.ready:
            columns = phases.reshape((many, groups, -1, w.length))
            made = product(xp, matrices, columns).reshape((many, out, *w.count))
        else:
            parts = []
            for part in stretches:
                columns = w.columns(backend, phases, part, room).reshape((groups, matrices.shape[2], -1))
                parts.append(product(xp, matrices, columns).reshape((out, many, part.stop - part.start)))
            lines = parts[0] if len(parts) == 1 else xp.concatenate(parts, -1)
            made = w.shown(backend, lines).swapaxes(0, 1)
        if bias is None:
            result[some] = made
        else:
            xp.add(made, offset, result[some])
    return result


def _by_channel(xp: Namespace, phases: Array, weight: Array, w: Sliding, groups: int) -> Array:
    """The convolution of every channel with kernels of its own, as (n, out, length)."""
    n, c = phases.shape[:2]
    factors = weight.reshape((groups, -1, len(w.taps), 1))
    total = xp.zeros((n, c, factors.shape[1], w.length), phases.dtype)
    term = xp.empty_like(total)
    for tap, (phase, shift) in enumerate(w.taps):
        xp.multiply(phases[:, :, None, phase, shift : shift + w.length], factors[:, :, tap], term)
        xp.add(total, term, total)
    return total.reshape((n, weight.shape[0], w.length))


def spread_back(backend: Backend, g: Array, weight: Array, w: Sliding, groups: int, inside: bool) -> Any:
    """The transpose of `correlate` with respect to the images."""
    xp = backend.xp
    n, c = g.shape[0], weight.shape[1] * groups
    result = image(backend, (n, c, *w.size), g.dtype, inside)
    if not g.size or not result.size:
        result[...] = 0
        return result
    if w.zeros and not finite(backend, weight):
        result[...] = spread_back_by_tap(backend, g, weight, w, groups)
        return result
    matrices = _matrices(weight, groups).swapaxes(1, 2)
    for some, stretches in w.blocks(n, c):
        many = some.stop - some.start
        if w.ready:
            columns = product(xp, matrices, g[some].reshape((many, groups, -1, w.length)))
            result[some] = w.join(xp, columns.reshape((many, c, w.phases, w.cells)))
            continue
        phases = xp.zeros((many, c, w.phases, w.cells), g.dtype)
        lines = w.lined(backend, g[some])
        if _thin(weight, groups):
            _back_by_channel(phases, lines, weight, w, groups)
        else:
            for part in stretches:
                rows = lines[:, :, part].reshape((groups, matrices.shape[2], -1))
                columns = product(xp, matrices, rows)
                w.add_columns(phases, columns.reshape((c, len(w.taps), many, part.stop - part.start)), part)
        result[some] = w.join(xp, phases)
    return result


def _back_by_channel(phases: Any, lines: Any, weight: Any, w: Sliding, groups: int) -> None:
    target = phases.swapaxes(0, 1)
    factors = weight.reshape((groups, -1, len(w.taps), 1, 1))
    rows = lines.reshape((groups, -1, *lines.shape[1:]))
    for one in range(rows.shape[1]):
        for tap, (phase, shift) in enumerate(w.taps):
            target[:, :, phase, shift : shift + w.length] += rows[:, one] * factors[:, one, tap]


def of_images(backend: Backend, g: Array, weight: Array, w: Sliding, groups: int, inside: bool) -> Any:
    """The images' gradient: `spread_back`, or the same as a convolution of `g`."""
    back = None if _thin(weight, groups) else w.mirrored
    # Copying columns is faster than adding them up, unless there are many more of them.
    if back is not None and weight.shape[0] * back.length <= 2 * weight.shape[1] * groups * w.length:
        return correlate(backend, g, _mirrored(weight, groups), None, back, groups, inside)
    return spread_back(backend, g, weight, w, groups, inside)


def of_weight(backend: Backend, g: Array, x: Array, shape: Ints, w: Sliding, groups: int) -> Any:
    """The transpose of `correlate` with respect to the weights, which have this shape."""
    xp = backend.xp
    (n, c), out = x.shape[:2], shape[0]
    total = xp.zeros((groups, out // groups, math.prod(shape[1:])), g.dtype)
    if not total.size or not g.size:
        return total.reshape(shape)
    if w.zeros and not finite(backend, g, x):
        return of_weight_by_tap(backend, g, x, shape, w, groups)
    room = w.room(xp, n, c, x.dtype)
    for some, stretches in w.blocks(n, c):
        phases = w.split(xp, x[some])
        many = phases.shape[0]
        if w.ready and groups * shape[1] != groups:
            rows = g[some].reshape((many, groups, out // groups, w.length))
            total += product(xp, rows, phases.reshape((many, groups, -1, w.length)).swapaxes(2, 3)).sum(0)
            continue
        lines = w.lined(backend, g[some])
        if shape[1] == 1 and groups > 1:
            _weight_by_channel(xp, total, phases, lines, w)
            continue
        for part in stretches:
            rows = lines[:, :, part].reshape((groups, out // groups, -1))
            columns = w.columns(backend, phases, part, room).reshape((groups, total.shape[2], -1))
            # BLAS is faster with the longer matrix first.
            if rows.shape[1] < columns.shape[1]:
                total += product(xp, columns, rows.swapaxes(1, 2)).swapaxes(1, 2)
            else:
                total += product(xp, rows, columns.swapaxes(1, 2))
    return total.reshape(shape)


def _weight_by_channel(xp: Namespace, total: Array, phases: Array, lines: Array, w: Sliding) -> None:
    source = phases.swapaxes(0, 1)
    rows = lines.reshape((*total.shape[:2], *lines.shape[1:]))
    for tap, (phase, shift) in enumerate(w.taps):
        total[:, :, tap] += xp.einsum("conl,cnl->co", rows, source[:, :, phase, shift : shift + w.length])
