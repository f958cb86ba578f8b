"""Linear maps of one dimension to another, of which each result is made of a few elements: resampling, uneven pooling.

Images are mapped one dimension after the other. The transpose of such a map, which its gradient needs, is one again.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ...core.native import in_c
from ...core.values import Array, Backend, Namespace, dt, or_own
from ...kernels.summing import widened
from ..making.windows import like

Row = list[tuple[int, float]]


class Map:
    """`rows[i]` lists the elements that result `i` is made of, and their weights; the elements are `size` in all."""

    def __init__(self, rows: Sequence[Row], size: int) -> None:
        self.rows, self.size = rows, size
        self.plain = all([weight == 1 for row in rows for _, weight in row])
        # For the first elements of all rows, the second, …: of which rows, which elements, their weights.
        self.taps = []
        for k in range(max(map(len, rows), default=0)):
            at = [i for i, row in enumerate(rows) if len(row) > k]
            chosen = [rows[i][k] for i in at]
            self.taps.append((_in_steps(at), _in_steps([place for place, _ in chosen]), [w for _, w in chosen]))
        self._held: dict[Any, Any] = {}

    @functools.cached_property
    def transposed(self) -> Map:
        columns: list[Row] = [[] for _ in range(self.size)]
        for i, row in enumerate(self.rows):
            for place, weight in row:
                columns[place].append((i, weight))
        return Map(columns, len(self.rows))

    def arrays(self, backend: Backend, dtype: Any) -> Any:
        """The taps with arrays of the backend's for lists; and all of them as a table, row by row."""
        key = backend, dtype
        if key not in self._held:
            array = backend.xp.asarray
            taps = [
                (
                    rows if isinstance(rows, slice) else array(rows),
                    places if isinstance(places, slice) else array(places),
                    None if self.plain else array(weights, dtype),
                )
                for rows, places, weights in self.taps
            ]
            every = [tap for row in self.rows for tap in row]
            table = (
                array([0, *itertools.accumulate(map(len, self.rows))], backend.xp.int64),
                array([place for place, _ in every], backend.xp.int64),
                None if self.plain else array([weight for _, weight in every], dtype),
            )
            self._held[key] = taps, table
        return self._held[key]


def _map_along(xp: Namespace, x: Array, axis: int, taps: Any, table: tuple[Any, ...]) -> Any:
    """What a map with these taps makes of what lies along an axis; the table is for who goes row by row."""
    lead = (slice(None),) * axis
    after = (1,) * (x.ndim - axis - 1)
    count = len(table[0]) - 1
    made = None
    for rows, places, weights in taps:
        part = x[(*lead, places)] if isinstance(places, slice) else x.take(places, axis)
        if weights is not None:
            part = part * weights.reshape((-1, *after))
        if made is None and part.shape[axis] == count:
            made = part.copy() if isinstance(places, slice) and weights is None else part
            continue
        if made is None:
            made = xp.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)
        made[(*lead, rows)] += part
    if made is None:
        made = xp.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)
    return made


def _map_all(xp: Namespace, x: Any, steps: list[Any]) -> Any:
    """What maps make of an array, one after the other; each is told by its axis, its taps and its table."""
    for step in steps:
        x = _map_along(xp, x, *step)
    return x


map_all = in_c("map_all", _map_all)


@or_own
def _map_stored(xp: Namespace, x: Array, steps: list[Any]) -> Array:
    """The same, of halves, too, which are computed with in float32."""
    return map_all(xp, widened(x), steps).astype(x.dtype, copy=False)


def _in_steps(numbers: list[int]) -> Any:
    """A list of places as a slice, if they lie evenly."""
    if not numbers:
        return slice(0, 0)
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    if step > 0 and all([b - a == step for a, b in itertools.pairwise(numbers)]):
        return slice(numbers[0], numbers[-1] + 1, step)
    return numbers


def mapped(backend: Backend, x: Array, maps: Sequence[Map | None]) -> Any:
    """An image with its last dimensions mapped, those first that shrink most; in the memory format it had.

    Of several that grow as much the last is first: its neighbours lie side by side, which makes the others' cheap.
    """
    first, stored = x.ndim - len(maps), dt.of_numpy(x.dtype)
    dtype = dt.WIDE.get(stored, stored).numpy
    wanted = {d: m for d, m in enumerate(maps) if m is not None}
    growth = {d: len(m.rows) / max(1, m.size) for d, m in wanted.items()}
    order = sorted(growth, key=lambda d: (growth[d], d if growth[d] < 1 else -d))
    steps = [(first + d, *wanted[d].arrays(backend, dtype)) for d in order]
    return like(backend, _map_stored(backend.xp, x, steps) if steps else x.copy(), x)


# ---- averages over windows of uneven size


@functools.lru_cache(256)
def uneven_means(size: int, count: int) -> Map:
    """Means over `count` windows that share a dimension out as evenly as can be."""
    windows = uneven_windows(size, count)
    return Map([[(i, 1 / (stop - start)) for i in range(start, stop)] for start, stop in windows], size)


def uneven_windows(size: int, count: int) -> list[tuple[int, int]]:
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


# ---- interpolation


def _single(value: float) -> float:
    """Rounded to single precision, in which PyTorch finds positions."""
    return struct.unpack("f", struct.pack("f", value))[0]


def _double(value: float) -> float:
    return value


def _scale(size: int, count: int, align_corners: bool, scale: float | None, rounded: Callable[[float], float]) -> float:
    """How far apart results lie, in elements."""
    if align_corners:
        return rounded((size - 1) / (count - 1)) if count > 1 else 0.0
    return rounded(1 / scale) if scale is not None and scale > 0 else rounded(size / count)


def _positions(
    size: int, count: int, align_corners: bool, scale: float | None, rounded: Callable[[float], float]
) -> list[float]:
    step = _scale(size, count, align_corners, scale, rounded)
    if align_corners:
        return [rounded(step * i) for i in range(count)]
    return [rounded(rounded(step * (i + 0.5)) - 0.5) for i in range(count)]


def _nearest(size: int, count: int, align_corners: bool, scale: float | None, rounded: Any) -> list[Row]:
    step = _scale(size, count, False, scale, rounded)
    return [[(min(int(rounded(step * i)), size - 1), 1)] for i in range(count)]


def _nearest_exact(size: int, count: int, align_corners: bool, scale: float | None, rounded: Any) -> list[Row]:
    positions = _positions(size, count, False, scale, rounded)
    return [[(min(int(rounded(max(p, 0) + 0.5)), size - 1), 1)] for p in positions]


def _linear(size: int, count: int, align_corners: bool, scale: float | None, rounded: Any) -> list[Row]:
    rows = []
    for p in _positions(size, count, align_corners, scale, rounded):
        p = max(p, 0.0)
        low = min(int(p), size - 1)
        part = min(max(rounded(p - low), 0.0), 1.0)
        rows.append(_merged([(low, 1 - part), (min(low + 1, size - 1), part)]))
    return rows


def _cubic_near(x: float, a: float) -> float:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _cubic_far(x: float, a: float) -> float:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _cubic(size: int, count: int, align_corners: bool, scale: float | None, rounded: Any) -> list[Row]:
    rows, a = [], -0.75
    for p in _positions(size, count, align_corners, scale, rounded):
        low = math.floor(p)
        t = rounded(p - low)
        weights = (_cubic_far(t + 1, a), _cubic_near(t, a), _cubic_near(1 - t, a), _cubic_far(2 - t, a))
        rows.append(_merged([(min(max(low - 1 + k, 0), size - 1), w) for k, w in enumerate(weights)]))
    return rows


def _merged(row: Row) -> Row:
    """With one entry for each element."""
    found: dict[int, float] = {}
    for place, weight in row:
        found[place] = found.get(place, 0.0) + weight
    return list(found.items())


def _antialiased(reach: int, weight: Callable[[float], float]) -> Callable[..., list[Row]]:
    """A filter that is made wider by as much as the image shrinks; it reaches so far to either side."""

    def rows(size: int, count: int, align_corners: bool, scale: float | None, rounded: Any) -> list[Row]:
        step = _scale(size, count, align_corners, scale, rounded)
        wider = max(step, 1.0)
        made = []
        for i in range(count):
            center = step * (i + 0.5)
            low = max(int(center - reach * wider + 0.5), 0)
            high = min(int(center + reach * wider + 0.5), size)
            weights = [weight(abs((j - center + 0.5) / wider)) for j in range(low, high)]
            total = sum(weights) or 1.0
            made.append([(low + j, w / total) for j, w in enumerate(weights)])
        return made

    return rows


def _triangle(x: float) -> float:
    return max(0.0, 1 - x)


def _bicubic(x: float) -> float:
    return _cubic_near(x, -0.5) if x < 1 else _cubic_far(x, -0.5) if x < 2 else 0.0


def _sinc(x: float) -> float:
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


_MODES: dict[str, Callable[..., list[Row]]] = {
    "nearest": _nearest, "nearest_exact": _nearest_exact, "linear": _linear, "cubic": _cubic,
    "linear_aa": _antialiased(1, _triangle), "cubic_aa": _antialiased(2, _bicubic),
    "lanczos_aa": _antialiased(3, lambda x: _sinc(x) * _sinc(x / 3) if x < 3 else 0.0),
}  # fmt: skip


@functools.lru_cache(256)
def interpolating(mode: str, size: int, count: int, align_corners: bool, scale: float | None, of: str) -> Map:
    """The map of one dimension to `count` results between its elements, which are "double", "single" or "bytes"."""
    rows = _MODES[mode](size, count, align_corners, scale, _single if of == "single" else _double)
    return Map(_in_16_bits(rows) if of == "bytes" else rows, size)


def _in_16_bits(rows: list[Row]) -> list[Row]:
    """Weights rounded to binary fractions of which the largest takes 16 bits, as PyTorch has them for bytes."""
    largest = max([weight for row in rows for _, weight in row])
    bits = next(n for n in range(23) if n == 22 or int(0.5 + largest * (2 << n)) >= 1 << 15)
    unit = 1 << bits
    return [[(place, int(weight * unit + math.copysign(0.5, weight)) / unit) for place, weight in row] for row in rows]
