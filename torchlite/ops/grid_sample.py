"""Images sampled at given points: `grid_sampler`, and the points of an affine map, `affine_grid_generator`.

Images are (n, channels, *size) and a grid is (n, *points, dimensions), with coordinates from -1 to 1, the last dimension
of the image first. Kernels work on flattened images and points.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core import errors
from ..core.batching import LEADING, Leading
from ..core.laid import LaidOp
from ..core.layout import contiguous_strides
from ..core.node import NOT_IMPLEMENTED
from ..core.publish import publish_python
from ..core.tensor import Tensor
from .rules import undifferentiable
from .windows import Ints
from .writing import combine, widened

if TYPE_CHECKING:
    from collections.abc import Iterator

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

# ---- where the points are


class _Along(NamedTuple):
    """The points in one dimension: which elements are read for them, and how the weights of these vary."""

    taps: list[tuple[Any, Any, Any]]  # element, weight, derivative of the weight by the coordinate (or None)
    size: int


def _position(coordinate: Any, size: int, align_corners: bool) -> tuple[Any, float]:
    """In elements, and how much that changes with the coordinate."""
    if align_corners:
        return (coordinate + 1) * ((size - 1) / 2), (size - 1) / 2
    return ((coordinate + 1) * size - 1) / 2, size / 2


def _within(xp: Any, at: Any, size: int, padding: int, align_corners: bool) -> tuple[Any, Any]:
    """A position brought into the image as the padding wants it, and the derivative of that."""
    slope: Any = 1
    if padding == ZEROS:
        return at, slope
    if padding == REFLECTION:
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        if low == high:
            return xp.zeros_like(at), xp.zeros_like(at)
        span = (high - low) / 2
        away = at - low / 2
        slope = xp.where(away < 0, -1, 1).astype(at.dtype)
        away = xp.abs(away)
        flips = xp.floor(away / span)
        extra = away - flips * span
        odd = xp.remainder(flips, 2) != 0
        at = xp.where(odd, span - extra, extra) + low / 2
        slope = slope * xp.where(odd, -1, 1).astype(at.dtype)
    inside = (at > 0) & (at < size - 1)
    return xp.minimum(xp.maximum(at, 0), size - 1), slope * inside


def _element(xp: Any, at: Any) -> Any:
    """A position that is whole as an integer; what is out of range or no number lies outside of all images."""
    safe = xp.where((at > -(2.0**30)) & (at < 2.0**30), at, -100)
    return safe.astype(xp.int64)


def _bilinear(xp: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, factor = _position(coordinate, size, align_corners)
    at, slope = _within(xp, at, size, padding, align_corners)
    low = xp.floor(at)
    element = _element(xp, low)
    part = at - low
    rate = slope * factor * xp.ones_like(part)
    return [(element, 1 - part, -rate), (element + 1, part, rate)]


def _nearest(xp: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, _ = _position(coordinate, size, align_corners)
    at, _ = _within(xp, at, size, padding, align_corners)
    return [(_element(xp, xp.rint(at)), xp.ones_like(at), xp.zeros_like(at))]


def _bicubic(xp: Any, coordinate: Any, size: int, padding: int, align_corners: bool) -> list[tuple[Any, Any, Any]]:
    at, factor = _position(coordinate, size, align_corners)
    low = xp.floor(at)
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
        place, _ = _within(xp, low + k, size, padding, align_corners)
        made.append((_element(xp, place), weight, rate * (sign * factor)))
    return made


_MODES = {BILINEAR: _bilinear, NEAREST: _nearest, BICUBIC: _bicubic}


def _dimensions(xp: Any, grid: Any, size: Ints, mode: int, padding: int, align_corners: bool) -> list[_Along]:
    """The points (n, points, dimensions) in each dimension of the image."""
    last = len(size) - 1
    return [
        _Along(_MODES[mode](xp, grid[..., last - d], n, padding, align_corners), n) for d, n in enumerate(size)
    ]  # fmt: skip


def _corners(xp: Any, dims: list[_Along]) -> Iterator[tuple[Any, Any, Any, list[Any]]]:
    """For each element around the points: where, whether it is in the image, and its weight and the rates of that."""
    rows = contiguous_strides(tuple([d.size for d in dims]))
    for corner in itertools.product(*[d.taps for d in dims]):
        inside: Any = True
        place: Any = 0
        for (element, _, _), d, row in zip(corner, dims, rows):
            inside = inside & (element >= 0) & (element < d.size)
            place = place + xp.minimum(xp.maximum(element, 0), d.size - 1) * row
        weights = [weight for _, weight, _ in corner]
        rates = []
        for d, (_, _, rate) in enumerate(corner):
            product = rate
            for other, weight in enumerate(weights):
                product = product if other == d else product * weight
            rates.append(product)
        yield place, inside, math.prod(weights[1:], start=weights[0]), rates


# ---- kernels


def _flat(grid: Any) -> Any:
    return grid.reshape((grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1]))


def _read(xp: Any, cells: Any, place: Any, inside: Any) -> Any:
    """Values of flattened images (n, channels, cells) at places (n, points), zero outside."""
    at = xp.broadcast_to(place[:, None], (*cells.shape[:2], place.shape[1]))
    return xp.where(inside[:, None], xp.take_along_axis(cells, at, 2), 0)


def _sample(backend: Any, x: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    xp = backend.xp
    n, c, *size = x.shape
    cells = widened(x).reshape((n, c, math.prod(size)))
    dims = _dimensions(xp, widened(_flat(grid)), tuple(size), mode, padding, align_corners)
    made = xp.zeros((n, c, math.prod(grid.shape[1:-1])), cells.dtype)
    for place, inside, weight, _ in _corners(xp, dims):
        made += _read(xp, cells, place, inside) * weight[:, None]
    return made.reshape((n, c, *grid.shape[1:-1])).astype(x.dtype, copy=False)


def _sample_backward(
    backend: Any, g: Any, x: Any, grid: Any, mode: int, padding: int, align_corners: bool, output_mask: Any
) -> Any:
    xp = backend.xp
    n, c, *size = x.shape
    count = math.prod(size)
    points = widened(_flat(grid))
    cells = widened(x).reshape((n, c, count))
    wide = widened(g).reshape((n, c, points.shape[1]))
    dims = _dimensions(xp, points, tuple(size), mode, padding, align_corners)
    of_cells = xp.zeros((n * count, c), cells.dtype) if output_mask[0] else None
    of_points = xp.zeros_like(points) if output_mask[1] else None
    first = xp.arange(n).reshape((n, 1)) * count
    for place, inside, weight, rates in _corners(xp, dims):
        if of_cells is not None and wide.size:
            share = xp.where(inside[:, None], wide * weight[:, None], 0).transpose((0, 2, 1)).reshape((-1, c))
            combine(xp, "add", of_cells, (first + place).reshape(-1), share)
        if of_points is not None and mode != NEAREST:
            felt = (_read(xp, cells, place, inside) * wide).sum(1)
            for d, rate in enumerate(rates):
                of_points[..., len(size) - 1 - d] += felt * rate
    if of_cells is not None:
        of_cells = of_cells.reshape((n, count, c)).transpose((0, 2, 1)).copy("C").reshape(x.shape)
        of_cells = of_cells.astype(x.dtype, copy=False)
    if of_points is not None:
        of_points = of_points.reshape(grid.shape).astype(grid.dtype, copy=False)
    return of_cells, of_points


# ---- the ops


def _check(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> None:
    image, points = input.array.shape, grid.array.shape
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
    image, points = input.array.shape, grid.array.shape
    if len(image) not in (4, 5) or len(image) != len(points):
        expected = len(image) if len(image) in (4, 5) else "4D or 5"
        raise RuntimeError(
            f"grid_sampler(): expected {expected}D input and grid with same number of dimensions, but got input with "
            f"sizes {list(image)} and grid with sizes {list(points)}"
        )
    if mode == BICUBIC and len(image) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype not in dt.FLOATS:
        raise errors.not_implemented_for(f"grid_sampler_{len(image) - 2}d_cpu_kernel_impl", input.dtype)
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {grid.dtype.legacy}")


def _fold_batch(input: Tensor, grid: Tensor, *options: Any) -> tuple[int, Tensor, Tensor]:
    """A batch of batches as one."""
    dims = grid.shape[-1]
    size = input.shape[0] if input.dim() == dims + 3 else grid.shape[0]
    images = input if input.dim() == dims + 3 else input.expand((size, *input.shape))
    points = grid if grid.dim() == dims + 3 else grid.expand((size, *grid.shape))
    return size, images.flatten(0, 1), points.flatten(0, 1)


_OPTIONS = "int interpolation_mode, int padding_mode, bool align_corners"


def _declare(dims: int) -> LaidOp:
    name = f"grid_sampler_{dims}d"

    def of_batch(input: Tensor, grid: Tensor, *options: Any) -> Tensor:
        size, images, points = _fold_batch(input, grid)
        return op.apply(images, points, *options).unflatten(0, (size, images.shape[0] // max(size, 1)))

    def backward_of_batch(g: Tensor, input: Tensor, grid: Tensor, *options: Any) -> Any:
        size, images, points = _fold_batch(input, grid)
        gs = (g if g.dim() == dims + 3 else g.expand((size, *g.shape))).flatten(0, 1)
        made = backward.apply(gs, images, points, *options)
        return tuple([m if m is None else m.unflatten(0, (size, m.shape[0] // max(size, 1))) for m in made])

    op = LaidOp(
        f"{name}(Tensor input, Tensor grid, {_OPTIONS})", _sample,
        lambda g, input, grid, interpolation_mode, padding_mode, align_corners, needs: backward.apply(
            g, input, grid, interpolation_mode, padding_mode, align_corners, needs
        ),
        node=f"GridSampler{dims}DBackward0", batch=Leading(call=of_batch),
    )  # fmt: skip
    failing = undifferentiable(f"derivative for aten::{name}_backward is not implemented", NotImplementedError)
    backward = LaidOp(
        f"{name}_backward(Tensor grad_output, Tensor input, Tensor grid, {_OPTIONS}, bool[] output_mask) "
        "-> (Tensor result0, Tensor result1)",
        _sample_backward, {"grad_output": failing, "input": failing, "grid": failing},
        node=NOT_IMPLEMENTED, batch=Leading(call=backward_of_batch),
    )  # fmt: skip
    return op


_OPS = {4: _declare(2), 5: _declare(3)}


def _grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Images sampled at given points."""
    if not input.dim() or not grid.dim() or input.dim() == grid.dim() or input.shape[0] != grid.shape[0]:
        _check(input, grid, interpolation_mode, padding_mode, align_corners)
    _check_ranks(input, grid, interpolation_mode)
    return _OPS[input.dim()].apply(input, grid, interpolation_mode, padding_mode, align_corners)


_SCHEMA = f"(Tensor input, Tensor grid, {_OPTIONS})"
for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    publish_python(_name + _SCHEMA, _grid_sampler, forms="function")


# ---- affine maps


def _base(xp: Any, size: Ints, align_corners: bool, dtype: Any) -> Any:
    """The points of an image of this size, with a coordinate of one after the others."""
    dims = len(size)
    base = xp.ones((*size, dims + 1), dtype)
    for d, n in enumerate(size):
        line = xp.linspace(-1, 1, n) if n > 1 else xp.zeros(n)
        if not align_corners:
            line = line * ((n - 1) / n)
        base[..., dims - 1 - d] = line.astype(dtype).reshape((-1,) + (1,) * (dims - 1 - d))
    return base.reshape((-1, dims + 1))


def _affine(backend: Any, theta: Any, image_size: Ints, align_corners: bool) -> Any:
    wide = widened(theta)
    base = _base(backend.xp, image_size, align_corners, wide.dtype)
    made = backend.xp.matmul(base, wide.swapaxes(-1, -2))
    return made.reshape((*theta.shape[:-2], *image_size, theta.shape[-2])).astype(theta.dtype, copy=False)


def _affine_backward(backend: Any, g: Any, image_size: Ints, align_corners: bool) -> Any:
    wide = widened(g)
    base = _base(backend.xp, image_size, align_corners, wide.dtype)
    dims = len(image_size)
    rows = wide.reshape((*g.shape[: g.ndim - dims - 1], base.shape[0], dims))
    return backend.xp.matmul(rows.swapaxes(-1, -2), base).astype(g.dtype, copy=False)


_affine_grid = LaidOp(
    "affine_grid_generator(Tensor theta, int[] image_size, bool align_corners)",
    _affine,
    {
        "theta": lambda g, image_size, align_corners: _affine_grid_backward.apply(g, image_size, align_corners)
    },
    linear=True,
    batch=LEADING,
)
_affine_grid_backward = LaidOp(
    "affine_grid_generator_backward(Tensor grad_output, int[] image_size, bool align_corners)",
    _affine_backward,
    {"grad_output": lambda g, image_size, align_corners: _affine_grid.apply(g, image_size, align_corners)},
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
    return _affine_grid.apply(theta, size[2:], align_corners)


affine_grid_generator = publish_python(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners)", _affine_grid_generator, forms="function"
)
