"""Images sampled at given points: `grid_sampler`, and the points of an affine map, `affine_grid_generator`.

Images are (n, channels, *size) and a grid is (n, *points, dimensions), with coordinates from -1 to 1, the last
dimension of the image first. Kernels work on flattened images and points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.declare import LaidOp, publish_python
from ...core.machine import LEADING, Leading, Tensor, requires_grad
from ...core.native import in_c
from ...core.state import local
from ...core.values import Array, Backend, Namespace, contiguous_strides, dt, errors
from ...kernels.summing import widened
from ..formulas import tensors
from ..making.windows import Ints
from ..places.writing import combine
from ..shapes.joining import stack

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

# ---- where the points are: functions of a namespace, of arrays or of tensors


def _whole(at: Any) -> Any:
    """Positions as integers."""
    return at.long() if isinstance(at, Tensor) else at.astype(dt.int64.numpy)


def _held(m: Any, at: Any, high: int) -> Any:
    """Positions from 0 to `high`; what is no number counts as 0."""
    return m.where(at.isnan(), 0, at).clip(0, high) if isinstance(at, Tensor) else m.fmin(m.fmax(at, 0), high)


class _Along(NamedTuple):
    """The points in one dimension: which elements are read for them, and how the weights of these vary."""

    taps: list[tuple[Any, Any, Any]]  # element, weight, derivative of the weight by the coordinate
    size: int


def _position(coordinate: Any, size: int, align_corners: bool) -> tuple[Any, float]:
    """In elements, in the precision of the coordinate, and how much that changes with it."""
    if align_corners:
        return (coordinate + 1) / 2 * (size - 1), (size - 1) / 2
    return (coordinate + 1) * (size / 2) - 0.5, size / 2


def _within(m: Any, at: Any, size: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """A position brought into the image as the padding wants it, and the derivative of that."""
    slope = m.ones_like(at)
    if padding == ZEROS:
        return at, slope
    if padding == REFLECTION:
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        if low == high:
            return _held(m, at * 0, 0), slope * 0
        twice = high - low  # the way there and back
        away = at - low / 2
        slope = m.where(away < 0, -slope, slope)
        away = m.absolute(away)
        there = away - m.floor(away / twice) * twice
        back = twice - there
        at = m.where(there > back, back, there) + low / 2
        slope = m.where(there > back, -slope, slope)
    return _held(m, at, size - 1), slope * ((at > 0) & (at < size - 1))


def _element(m: Any, at: Any) -> Any:
    """A position that is whole as an integer; what is out of range or no number lies outside of all images."""
    return _whole(m.where((at > -(2.0**30)) & (at < 2.0**30), at, m.ones_like(at) * -100))


def _bilinear(m: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, factor = _position(coordinate, size, align_corners)
    at, slope = _within(m, at, size, padding, align_corners)
    low = m.floor(at)
    element, part, rate = _element(m, low), at - low, slope * factor
    return [(element, 1 - part, -rate), (element + 1, part, rate)]


def _nearest(m: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, _ = _position(coordinate, size, align_corners)
    at, slope = _within(m, at, size, padding, align_corners)
    return [(_element(m, at.round() if isinstance(at, Tensor) else m.rint(at)), m.ones_like(at), slope * 0)]


def _bicubic(m: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, factor = _position(coordinate, size, align_corners)
    low = m.floor(at)
    t = at - low
    a = -0.75
    made = []
    for k, x, sign in ((-1, t + 1, 1), (0, t, 1), (1, 1 - t, -1), (2, 2 - t, -1)):
        if k in (0, 1):
            weight = ((a + 2) * x - (a + 3)) * x * x + 1
            rate = (3 * (a + 2) * x - 2 * (a + 3)) * x
        else:
            weight = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            rate = (3 * a * x - 10 * a) * x + 8 * a
        place, _ = _within(m, low + k, size, padding, align_corners)
        made.append((_element(m, place), weight, rate * (sign * factor)))
    return made


_MODES = {BILINEAR: _bilinear, NEAREST: _nearest, BICUBIC: _bicubic}


def _corners(
    m: Any, points: Any, size: Ints, mode: int, padding: int, align_corners: bool
) -> Iterator[tuple[Any, Any, Any, list[Any]]]:
    """For each element around the points (n, points, dimensions): its place in a flattened image, whether it is in the
    image, its weight, and the derivatives of that by the coordinates."""
    last = len(size) - 1
    dims = [_Along(_MODES[mode](m, points[..., last - d], n, padding, align_corners), n) for d, n in enumerate(size)]
    rows = contiguous_strides(size)
    for corner in itertools.product(*[d.taps for d in dims]):
        inside: Any = True
        place: Any = 0
        for (element, _, _), d, row in zip(corner, dims, rows):
            inside = inside & (element >= 0) & (element < d.size)
            place = place + m.clip(element, 0, d.size - 1) * row
        weights = [weight for _, weight, _ in corner]
        rates = []
        for at, (_, _, rate) in enumerate(corner):
            rates.append(math.prod([w for other, w in enumerate(weights) if other != at], start=rate))
        yield place, inside, math.prod(weights[1:], start=weights[0]), rates[::-1]


# ---- kernels


def _flat(grid: Any) -> Any:
    return grid.reshape((grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1]))


def _rows(xp: Namespace, x: Array) -> Any:
    """The elements of images as rows of their channels, and a row of zeros for what lies outside."""
    n, c, *size = x.shape
    rows = xp.zeros((n * math.prod(size) + 1, c), x.dtype)
    rows[:-1].reshape((n, math.prod(size), c))[...] = x.reshape((n, c, math.prod(size))).swapaxes(1, 2)
    return rows


def _row_numbers(xp: Namespace, place: Array, inside: Any, count: int) -> Array:
    """In which of these rows the places (n, points) are, of images of `count` elements."""
    n = place.shape[0]
    first = xp.arange(0, n * count, count).reshape((n, 1)) if count else xp.zeros((n, 1), xp.int64)
    return xp.where(inside, place + first, n * count).reshape(-1)


def _sample(backend: Backend, x: Array, grid: Array, *options: Any) -> Any:
    xp = backend.xp
    n, c, *size = x.shape
    rows = _rows(xp, widened(x))
    points = _flat(grid)
    made = xp.zeros((n * points.shape[1], c), rows.dtype)
    for place, inside, weight, _ in _corners(xp, points, tuple(size), *options):
        made += rows.take(_row_numbers(xp, place, inside, math.prod(size)), 0) * weight.reshape((-1, 1))
    made = made.reshape((n, points.shape[1], c)).swapaxes(1, 2).copy("C")
    return made.reshape((n, c, *grid.shape[1:-1])).astype(x.dtype, copy=False)


def _sample_backward(backend: Backend, g: Array, x: Array, grid: Array, *rest: Any) -> tuple[Any, ...]:
    xp = backend.xp
    *options, output_mask = rest
    n, c, *size = x.shape
    points = _flat(grid)
    rows = _rows(xp, widened(x))
    of_result = widened(g).reshape((n, c, points.shape[1])).swapaxes(1, 2).copy("C").reshape((-1, c))
    of_rows = xp.zeros_like(rows) if output_mask[0] else None
    of_points = xp.zeros_like(widened(points)) if output_mask[1] else None
    for place, inside, weight, rates in _corners(xp, points, tuple(size), *options):
        numbers = _row_numbers(xp, place, inside, math.prod(size))
        if of_rows is not None:
            places = numbers.reshape((-1, 1)) * c + xp.arange(c)
            combine(
                xp, "add", of_rows.reshape(-1), places.reshape(-1), (of_result * weight.reshape((-1, 1))).reshape(-1)
            )
        if of_points is not None:
            felt = xp.einsum("pc,pc->p", rows.take(numbers, 0), of_result).reshape(place.shape)
            for d, rate in enumerate(rates):
                of_points[..., d] += felt * rate
    if of_rows is not None:
        of_rows = of_rows[:-1].reshape((n, math.prod(size), c)).swapaxes(1, 2).copy("C").reshape(x.shape)
        of_rows = of_rows.astype(x.dtype, copy=False)
    if of_points is not None:
        of_points = of_points.reshape(grid.shape).astype(grid.dtype, copy=False)
    return of_rows, of_points


sample, sample_backward = in_c("grid_sample", _sample), in_c("grid_sample_backward", _sample_backward)

# ---- the gradients made of other ops, where they are to be differentiated again


def _gradients_by_ops(g: Tensor, input: Tensor, grid: Tensor, *rest: Any) -> tuple[Any, ...]:
    *options, needs = rest
    n, c, *size = input._array.shape
    wide = dt.float32 if input.dtype in dt.HALVES else input.dtype
    points = _flat(grid)
    count = points.shape[1]
    cells = input.reshape((n, c, math.prod(size))).to(wide)
    of_result = g.reshape((n, c, count)).to(wide)
    of_cells = cells.new_zeros(cells.shape)
    of_points: list[Any] = [0] * len(size)
    for place, inside, weight, rates in _corners(tensors, points, tuple(size), *options):
        at = place.unsqueeze(1).expand((n, c, count))
        outside = ~inside.unsqueeze(1)
        of_cells = of_cells.scatter_add(2, at, (of_result * weight.unsqueeze(1)).masked_fill(outside, 0))
        felt = (cells.gather(2, at).masked_fill(outside, 0) * of_result).sum(1)
        of_points = [have + felt * rate for have, rate in zip(of_points, rates)]
    return (
        of_cells.reshape(input.shape).to(input.dtype) if needs[0] else None,
        stack.apply(tuple(of_points), -1).reshape(grid.shape).to(grid.dtype) if needs[1] else None,
    )


# ---- the ops


def _check(input: Tensor, grid: Tensor) -> None:
    image, points = input._array.shape, grid._array.shape
    given = f"but got input with sizes {list(image)} and grid with sizes {list(points)}"
    if not image or not points or image[0] != points[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {given}")
    if points[-1] != len(image) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(image) - 2} in last dimension, but got grid with sizes "
            f"{list(points)}"
        )
    for d in range(2, len(image)):
        if not image[d]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(image)} with dimension {d} being empty"
            )


def _check_ranks(input: Tensor, grid: Tensor, mode: int) -> None:
    image, points = input._array.shape, grid._array.shape
    if len(image) not in (4, 5) or len(image) != len(points):
        expected = len(image) if len(image) in (4, 5) else "4D or 5"
        raise RuntimeError(
            f"grid_sampler(): expected {expected}D input and grid with same number of dimensions, but got input with "
            f"sizes {list(image)} and grid with sizes {list(points)}"
        )
    if mode == BICUBIC and len(image) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype not in dt.FLOATS:
        name = "grid_sampler_2d_cpu_kernel_impl" if len(image) == 4 else "grid_sampler3d_cpu"
        raise errors.not_implemented_for(name, input.dtype)
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {grid.dtype.legacy}")


def _fold_batch(dims: int, *tensors: Tensor) -> tuple[int, list[Tensor]]:
    """Batches of batches as one, of tensors some of which have one batch alone."""
    size = next(t.shape[0] for t in tensors if t.dim() == dims + 3)
    each = [t if t.dim() == dims + 3 else t.expand((size, *t.shape)) for t in tensors]
    return size, [t.flatten(0, 1) for t in each]


_OPTIONS = "int interpolation_mode, int padding_mode, bool align_corners"


def _declare(dims: int) -> LaidOp:
    name = f"grid_sampler_{dims}d"

    def of_batch(input: Tensor, grid: Tensor, *options: Any) -> Tensor:
        size, (images, points) = _fold_batch(dims, input, grid)
        return op.apply(images, points, *options).unflatten(0, (size, images.shape[0] // max(size, 1)))

    def backward_of_batch(g: Tensor, input: Tensor, grid: Tensor, *options: Any) -> tuple[Any, ...]:
        size, (gs, images, points) = _fold_batch(dims, g, input, grid)
        made = backward.apply(gs, images, points, *options)
        return tuple([m if m is None else m.unflatten(0, (size, m.shape[0] // max(size, 1))) for m in made])

    def gradients(
        g: Any, input: Any, grid: Any, interpolation_mode: Any, padding_mode: Any, align_corners: Any, needs: Any
    ) -> Any:
        again = local.state.mode.grad and any(map(requires_grad, (g, input, grid)))
        apply = _gradients_by_ops if again else backward.apply
        return apply(g, input, grid, interpolation_mode, padding_mode, align_corners, needs)

    op = LaidOp(
        f"{name}(Tensor input, Tensor grid, {_OPTIONS})", sample,
        gradients, node=f"GridSampler{dims}DBackward0", batch=Leading(call=of_batch),
    )  # fmt: skip
    backward = LaidOp(
        f"{name}_backward(Tensor grad_output, Tensor input, Tensor grid, {_OPTIONS}, bool[] output_mask) "
        "-> (Tensor result0, Tensor result1)",
        sample_backward,
        check=lambda grad_output, input, grid, *_: _check(input, grid),
        batch=Leading(call=backward_of_batch),
    )
    return op


_OPS = {4: _declare(2), 5: _declare(3)}


def _grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Images sampled at given points."""
    if not input.dim() or not grid.dim() or input.dim() == grid.dim() or input.shape[0] != grid.shape[0]:
        _check(input, grid)
    _check_ranks(input, grid, interpolation_mode)
    return _OPS[input.dim()].apply(input, grid, interpolation_mode, padding_mode, align_corners)


_SCHEMA = f"(Tensor input, Tensor grid, {_OPTIONS})"
for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    publish_python(_name + _SCHEMA, _grid_sampler, method=False)


# ---- affine maps


def _base(xp: Namespace, size: Ints, align_corners: bool, dtype: Any) -> Array:
    """The points of an image of this size, with a coordinate of one after the others."""
    dims = len(size)
    base = xp.ones((*size, dims + 1), dtype)
    for d, n in enumerate(size):
        line = xp.linspace(-1, 1, n) if n > 1 else xp.zeros(n)
        if not align_corners:
            line = line * ((n - 1) / n)
        base[..., dims - 1 - d] = line.astype(dtype).reshape((-1,) + (1,) * (dims - 1 - d))
    return base.reshape((-1, dims + 1))


def _affine(backend: Backend, theta: Array, size: Ints, align_corners: bool) -> Any:
    wide = widened(theta)
    base = _base(backend.xp, size[2:], align_corners, wide.dtype)
    made = backend.xp.matmul(base, wide.swapaxes(-1, -2))
    return made.reshape((*theta.shape[:-2], *size[2:], theta.shape[-2])).astype(theta.dtype, copy=False)


def _affine_backward(backend: Backend, g: Array, size: Ints, align_corners: bool) -> Any:
    wide = widened(g)
    base = _base(backend.xp, size[2:], align_corners, wide.dtype)
    dims = len(size) - 2
    rows = wide.reshape((*g.shape[: g.ndim - dims - 1], base.shape[0], dims))
    return backend.xp.matmul(rows.swapaxes(-1, -2), base).astype(g.dtype, copy=False)


_affine_grid = LaidOp(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners)",
    _affine,
    {"theta": lambda g, size, align_corners: _affine_grid_backward.apply(g, size, align_corners)},
    linear=True,
    batch=LEADING,
)
_affine_grid_backward: LaidOp = LaidOp(
    "affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners)",
    _affine_backward,
    {"grad": _affine_grid},
    linear=True,
    batch=LEADING,
)


def _affine_grid_generator(theta: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """The points that an affine map leads the points of an image of this size to."""
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if theta.shape[0] != size[0]:
        k = len(size) - 1
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {k}] but got: "
            f"[{theta.shape[0]}, {k}]."
        )
    return _affine_grid.apply(theta, size, align_corners)


affine_grid_generator = publish_python(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners)", _affine_grid_generator, method=False
)
