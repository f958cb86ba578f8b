"""The largest value of windows that share an image out: `adaptive_max_pool` and `fractional_max_pool`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from ...core.declare import By, LaidOp, publish_python
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Backend, Namespace, contiguous_strides, dt
from ..making.windows import Ints, like, spread
from .average_pool import check_one, check_row, check_sized
from .max_pool import check_dtype, places_ops
from .pool_kernels import best_of, maxima_and_places
from .resample import uneven_windows

# ---- adaptive


def _adaptive(backend: Backend, self: Array, output_size: Ints) -> tuple[Any, Any]:
    n = len(output_size)
    size = self.shape[self.ndim - n :]
    if all([count and length % count == 0 for length, count in zip(size, output_size)]):
        window = tuple([length // count for length, count in zip(size, output_size)])
        best, at = maxima_and_places(backend, self, (output_size, window, window, (0,) * n, (1,) * n))
        best = best.astype(self.dtype, copy=False)
    else:
        lead = self.shape[: self.ndim - n]
        backend.check_room((*lead, *output_size), self.dtype)
        cells = self.reshape((*lead, math.prod(size)))
        best, at = best_of(backend.xp, cells, _uneven_places(backend.xp, size, output_size))
        best, at = best.reshape((*lead, *output_size)), at.reshape((*lead, *output_size))
    if n == 2:
        return like(backend, best, self), like(backend, at, self)
    return best, at


def _uneven_places(xp: Namespace, size: Ints, count: Ints) -> Iterator[Any]:
    """For each tap of uneven windows, where in a flattened image it lies; short windows read their last place again."""
    dims = []
    for d, (length, number, row) in enumerate(zip(size, count, contiguous_strides(size))):
        windows = uneven_windows(length, number)
        shape = [-1 if d == other else 1 for other in range(len(size))]
        places: list[Any] = []
        for tap in range(max([stop - start for start, stop in windows], default=0)):
            at = [min(start + tap, stop - 1) * row for start, stop in windows]
            places.append(xp.asarray(at, xp.int64).reshape(shape))
        dims.append(places or [xp.zeros([0 if n < 0 else n for n in shape], xp.int64)])
    for first, *rest in itertools.product(*dims):
        yield sum(rest, first).reshape(-1)


def _declare_adaptive(dims: int) -> Any:
    name = f"adaptive_max_pool{dims}d"
    to_image, _ = places_ops(f"{name}_backward", dims)
    op = LaidOp(
        f"{name}(Tensor self, int[] output_size) -> (Tensor result0, Tensor result1)", _adaptive,
        {"self": By(to_image, {"indices": "result1"})}, node=f"AdaptiveMaxPool{dims}DBackward0", batch=LEADING,
    )  # fmt: skip

    def pool(self: Tensor, output_size: Ints) -> Any:
        """The largest values of `output_size` windows, as even as can be, and where they lie."""
        if self.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(self.shape)}")
        check_sized(name, self, self.dim() - 1)
        if len(output_size) != dims:
            raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
        if min(output_size) < 0:
            made = [*self._array.shape[: self.dim() - dims], *output_size]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {made}")
        check_dtype(name if dims == 2 else f"{name}_cpu", self, dt.FLOATS)
        return op.apply(self, output_size)

    return publish_python(f"{name}(Tensor self, int[{dims}] output_size)", pool, function=False, method=False)


adaptive_max_pool2d, adaptive_max_pool3d = _declare_adaptive(2), _declare_adaptive(3)


def _adaptive_max_pool1d(self: Tensor, output_size: Ints) -> tuple[Any, ...]:
    """The largest values of `output_size` windows, as even as can be, and where they lie."""
    check_row("adaptive_max_pool1d", self)
    check_one("adaptive_max_pool1d", output_size=output_size)
    check_sized("adaptive_max_pool1d", self, self.dim() - 1)
    best, at = adaptive_max_pool2d(self.unsqueeze(-2), (1, *output_size))
    return best.squeeze(-2), at.squeeze(-2)


adaptive_max_pool1d = publish_python(
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor result0, Tensor result1)",
    _adaptive_max_pool1d,
    method=False,
)


# ---- fractional: windows of one size at random distances


def _fractional(
    backend: Backend, self: Array, kernel_size: Ints, output_size: Ints, random_samples: Array
) -> tuple[Any, Any]:
    xp = backend.xp
    n = len(kernel_size)
    size, lead = self.shape[self.ndim - n :], self.shape[: self.ndim - n]
    rows = contiguous_strides(size)
    samples = random_samples.reshape((math.prod(lead), n))
    order = (1, 0) if n == 2 else (0, 1, 2)  # in which the dimensions take their samples
    first: Any = 0
    for d, length in enumerate(size):
        starts = _starts(xp, samples[:, order[d]], length, kernel_size[d], output_size[d]) * rows[d]
        shape = [output_size[d] if d == other else 1 for other in range(n)]
        first = first + starts.reshape((samples.shape[0], *shape))
    first = first.reshape((*lead, math.prod(output_size)))
    taps = itertools.product(*[range(0, k * row, row) for k, row in zip(kernel_size, rows)])
    best, at = best_of(xp, self.reshape((*lead, math.prod(size))), (first + sum(tap) for tap in taps))
    return best.reshape((*lead, *output_size)), at.reshape((*lead, *output_size))


def _starts(xp: Namespace, samples: Array, size: int, window: int, count: int) -> Any:
    """Where the windows begin, of each image: the last at the end."""
    last = xp.full((samples.shape[0], 1), size - window, xp.int64)
    if count == 1:
        return last
    wide = samples.astype(xp.float32) if samples.dtype.itemsize < 4 else samples
    alpha = wide.dtype.type((size - window) / (count - 1))
    steps = (xp.arange(count - 1, dtype=wide.dtype) + wide[:, None]) * alpha
    starts = steps.astype(xp.int64) - (wide[:, None] * alpha).astype(xp.int64)
    return xp.concatenate([starts, last], 1)


def _check_fractional(
    name: str, dims: int, self: Tensor, kernel_size: Ints, output_size: Ints, random_samples: Tensor
) -> None:
    if len(kernel_size) not in (1, dims):
        what = "two Ints" if dims == 2 else "three Ints"
        raise RuntimeError(f"{name}: kernel_size must either be a single Int or tuple of {what}")
    if len(output_size) not in (1, dims):
        what = "two Ints" if dims == 2 else "three Ints"
        raise RuntimeError(f"{name}: output_size must either be a single Int or tuple of {what}")
    shape = self._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(shape)}")
    if 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(shape)}"
        )
    if random_samples.dtype is not self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    images = tuple(shape[: len(shape) - dims]) if len(shape) == dims + 2 else (1, shape[0])
    given = random_samples._array.shape
    if len(given) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(given)}")
    for ok, message in (
        (given[0] >= images[0], "Expect _random_samples.size(0) no less then input batch size."),
        (given[1] == images[1], "Expect _random_samples.size(1) equals to input channel size."),
        (given[2] == dims, f"Expect _random_samples.size(2) equals to {dims}; got {given[2]}."),
    ):
        if not ok:
            raise RuntimeError(message)
    kernel_size, output_size = spread(kernel_size, dims), spread(output_size, dims)
    if min(output_size) < 0:
        made = [*shape[: len(shape) - dims], *output_size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {made}")
    for axis, length, window, count in zip("THW"[3 - dims :], shape[len(shape) - dims :], kernel_size, output_size):
        word = {"T": "time", "H": "height", "W": "width"}[axis]
        if count + window - 1 > length - (dims == 3):  # as PyTorch counts
            raise RuntimeError(f"{name}(): pool {word} {window} too large relative to input {word} {length}")


def _declare_fractional(dims: int) -> Any:
    name, several = f"fractional_max_pool{dims}d", f"int[{dims}]"
    to_image, _ = places_ops(f"{name}_backward", dims)
    schema = f"{name}(Tensor self, {several} kernel_size, {several} output_size, Tensor random_samples)"
    op = LaidOp(
        f"{schema} -> (Tensor result0, Tensor result1)", _fractional,
        {"self": By(to_image, {"indices": "result1"}), "random_samples": None},
        node=f"FractionalMaxPool{dims}DBackward0", batch=LEADING, non_differentiable=("random_samples",),
        shows="kernel_size output_size",
    )  # fmt: skip

    def pool(self: Tensor, kernel_size: Ints, output_size: Ints, random_samples: Tensor) -> Any:
        """The largest values of windows at random distances, and where they lie."""
        _check_fractional(name, dims, self, kernel_size, output_size, random_samples)
        window = kernel_size * dims if len(kernel_size) == 1 else kernel_size
        count = output_size * dims if len(output_size) == 1 else output_size
        check_dtype(f"{name}_out_frame", self, dt.FLOATS)
        images = self.shape[0] if self.dim() == dims + 2 else 1
        samples = random_samples.narrow(0, 0, images) if random_samples.shape[0] > images else random_samples
        return op.apply(self, window, count, samples if self.dim() == dims + 2 else samples.squeeze(0))

    publish_python(
        f"{name}_backward(Tensor grad_output, Tensor self, {several} kernel_size, {several} output_size, "
        "Tensor indices)",
        lambda grad_output, self, kernel_size, output_size, indices: to_image.apply(grad_output, self, indices),
        function=False, method=False,
    )  # fmt: skip
    return publish_python(schema, pool, function=False, method=False)


fractional_max_pool2d, fractional_max_pool3d = _declare_fractional(2), _declare_fractional(3)
