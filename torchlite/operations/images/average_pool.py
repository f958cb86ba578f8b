"""The mean of every window of an image: `avg_pool1d`, `avg_pool2d`, `avg_pool3d` and `adaptive_avg_pool`."""

from __future__ import annotations

from typing import Any

from ...core.declare import Formula, LaidOp, publish_python
from ...core.machine import LEADING, Tensor
from ...core.values import Array, Backend, Namespace, dt
from ...kernels.summing import widened
from ..making.windows import Ints, channels_inside, like, taps
from ..vocabulary import zero_gradient
from .max_pool import check_count, check_dtype, check_not_empty, count_windows, geometry_of, options
from .pool_kernels import over_windows
from .resample import mapped, uneven_means


def _counts(backend: Backend, size: Ints, geometry: Any, include_pad: bool, divisor: int | None, dtype: Any) -> Any:
    """By what the sum of each window is divided: one number, or an array of them."""
    count, window, stride, padding, _ = geometry
    if divisor is not None:
        return divisor
    made: Any = 1
    for d, n in enumerate(size):
        lengths = []
        for i in range(count[d]):
            start = i * stride[d] - padding[d]
            stop = min(start + window[d], n + padding[d])
            lengths.append(stop - start if include_pad else min(stop, n) - max(start, 0))
        if len(set(lengths)) == 1:
            made = made * lengths[0]
        else:
            made = made * backend.xp.asarray(lengths, dtype).reshape((-1,) + (1,) * (len(size) - 1 - d))
    return made


def _divided(xp: Namespace, total: Array, by: Any) -> Any:
    """The quotient; of integers, rounded towards zero."""
    if total.dtype.kind in "iu":
        made = xp.sign(total) * (xp.abs(total) // abs(by))
        return -made if isinstance(by, int) and by < 0 else made
    return total / by if isinstance(by, int) else xp.divide(total, by, total)


def _avg_pool(
    backend: Backend, self: Array, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include_pad: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    xp = backend.xp
    size = self.shape[self.ndim - len(kernel_size) :]
    geometry = geometry_of((kernel_size, stride or kernel_size, padding, (1,) * len(size), ceil_mode), size)
    x = widened(self)
    total = over_windows(xp, xp.add, 0, x, geometry)
    made = _divided(xp, total, _counts(backend, size, geometry, include_pad, divisor, x.dtype))
    return _laid(backend, made.astype(self.dtype, copy=False), self)


def _laid(backend: Backend, made: Array, self: Array) -> Any:
    """PyTorch keeps the memory format of images, but not of volumes."""
    return like(backend, made, self) if made.ndim < 5 else backend.ordered(made, backend.strides(made.copy("C")))


def _avg_pool_backward(
    backend: Backend, g: Array, self: Array, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    xp = backend.xp
    size = self.shape[self.ndim - len(kernel_size) :]
    geometry = geometry_of((kernel_size, stride or kernel_size, padding, (1,) * len(size), ceil_mode), size)
    wide = widened(g)
    share = _divided(xp, wide.copy(), _counts(backend, size, geometry, include_pad, divisor, wide.dtype))
    made = xp.zeros(self.shape, wide.dtype)
    for into, source in taps(size, *geometry):
        made[source] += share[into]
    return like(backend, made.astype(g.dtype, copy=False), self)


def _check_avg(name: str, dims: int, self: Tensor, values: Any) -> tuple[Any, ...]:
    """The arguments in full, but for a stride that is not given."""
    kernel_size, given, padding, ceil_mode, include_pad, divisor = values
    window, stride, padding, ones = options(name, dims, kernel_size, given, padding)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    shape = self._array.shape
    if dims == 3 and len(shape) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if len(shape) < 3:
        self.size(-3)
    count, *_ = count_windows(shape[len(shape) - dims :], window, stride, padding, ones, ceil_mode)
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    if dims == 2:
        check_not_empty(shape)
    elif min(count) < 1:
        image, kernel = [" ".join(f"{p}{a}: {n}" for a, n in zip("THW", numbers)) for p, numbers in
                         (("", shape[-3:]), ("k", window))]  # fmt: skip
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({kernel})")
    check_count(shape[len(shape) - dims - 1 :], count)
    label, halves = (name, dt.HALVES) if dims == 2 else (f"{name}_out_frame", frozenset())
    check_dtype(label, self, {dt.float32, dt.float64, dt.int64, *halves})
    return window, stride if given else (), padding, ceil_mode, include_pad, divisor


def _declare(dims: int) -> Any:
    name, several = f"avg_pool{dims}d", f"int[{dims}]"
    numbers = (
        f"{several} kernel_size, {several} stride, {several} padding, bool ceil_mode, bool count_include_pad, "
        "int? divisor_override"
    )

    again = Formula(lambda *given: op.apply(*given), "g", *[number.split()[-1] for number in numbers.split(",")])
    backward = LaidOp(
        f"{name}_backward(Tensor grad_output, Tensor self, {numbers})", _avg_pool_backward,
        {"grad_output": again, "self": zero_gradient}, node=f"AvgPool{dims}DBackwardBackward0", linear=True,
        batch=LEADING,
    )  # fmt: skip
    op = LaidOp(
        f"{name}(Tensor self, {several} kernel_size, {several} stride=[], {several} padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True, int? divisor_override=None)",
        _avg_pool, {"self": backward}, node=f"AvgPool{dims}DBackward0", linear=True, batch=LEADING,
    )  # fmt: skip

    def pool(self: Tensor, *values: Any) -> Tensor:
        """The mean of every window."""
        return op.apply(self, *_check_avg(name, dims, self, values))

    return publish_python(
        f"{name}(Tensor self, {several} kernel_size, {several} stride=[], {several} padding=[0], bool ceil_mode=False, "
        "bool count_include_pad=True, int? divisor_override=None)",
        pool,
        function=False, method=False,
    )


avg_pool2d, avg_pool3d = _declare(2), _declare(3)


def check_one(name: str, **given: Ints) -> None:
    for argument, numbers in given.items():
        if len(numbers) != 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(numbers)})")


def check_row(name: str, self: Tensor) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


def _avg_pool1d(
    self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool
) -> Tensor:
    """The mean of every window."""
    check_row("avg_pool1d", self)
    check_one("avg_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding)
    window, step = (1, *kernel_size), (1, *(stride or kernel_size))
    return avg_pool2d(self.unsqueeze(-2), window, step, (0, *padding), ceil_mode, count_include_pad).squeeze(-2)


avg_pool1d = publish_python(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, "
    "bool count_include_pad=True)",
    _avg_pool1d,
    method=False,
)


# ---- as many windows as are asked for


def _adaptive(backend: Backend, self: Array, output_size: Ints) -> Any:
    size = self.shape[self.ndim - len(output_size) :]
    if all([count and n % count == 0 for n, count in zip(size, output_size)]):
        window = tuple([n // count for n, count in zip(size, output_size)])
        return _avg_pool(backend, self, window, window, (0,) * len(size), False, True, None)
    backend.check_room((*self.shape[: -len(size)], *output_size), self.dtype)
    return _laid(backend, mapped(backend, self, list(map(uneven_means, size, output_size))), self)


def check_sized(name: str, self: Tensor, dims: int) -> None:
    """The checks of the input that adaptive pools share."""
    shape = self._array.shape
    for d in range(len(shape) - dims, len(shape)):
        if not shape[d]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} with dimension {d} being empty"
            )


def _declare_adaptive(dims: int) -> Any:
    name = f"adaptive_avg_pool{dims}d"

    def transposed(backend: Backend, g: Array, self: Array) -> Any:
        size, count = self.shape[self.ndim - dims :], g.shape[g.ndim - dims :]
        maps = [uneven_means(n, c).transposed for n, c in zip(size, count)]
        return like(backend, mapped(backend, g, maps), self)

    op = LaidOp(
        f"_{name}(Tensor self, int[] output_size)", _adaptive, {"self": lambda g, self: backward.apply(g, self)},
        node=f"AdaptiveAvgPool{dims}DBackward0", linear=True, batch=LEADING,
    )  # fmt: skip
    backward = LaidOp(
        f"_{name}_backward(Tensor grad_output, Tensor self)", transposed,
        {
            "grad_output": lambda g, grad_output_shape: op.apply(g, tuple(grad_output_shape[-dims:])),
            "self": zero_gradient,
        },
        node=f"AdaptiveAvgPool{dims}DBackwardBackward0", linear=True, batch=LEADING,
    )  # fmt: skip

    def pool(self: Tensor, output_size: Ints) -> Tensor:
        """The means of `output_size` windows, as even as can be."""
        if len(output_size) != dims:
            raise RuntimeError(f"{name}: output_size must be {dims}")
        if min(output_size) < 0:
            given = ", ".join(map(str, output_size[:2])) + "".join(f",{n}" for n in output_size[2:])
            raise RuntimeError(
                f"{name}: elements of output_size must be greater than or equal to 0 but received {{{given}}}"
            )
        if set(output_size) == {1}:
            return _mean(self, dims)
        if self.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(self.shape)}")
        check_sized(name, self, dims)
        if self._array.size or dims == 3:
            check_dtype(name if dims == 2 else f"{name}_cpu", self, dt.FLOATS)
        return op.apply(self, output_size)

    publish_python(f"_{name}(Tensor self, int[{dims}] output_size)", pool, method=False)
    return publish_python(f"{name}(Tensor self, int[{dims}] output_size)", pool, function=False, method=False)


def _mean(self: Tensor, dims: int) -> Tensor:
    """The mean of a whole image, in the memory format it had."""
    made = self.mean(tuple(range(-1, -dims - 1, -1)), True)
    shape = self._array.shape
    if self._backend.real.strided and len(shape) == dims + 2 and channels_inside(shape, self.stride()):
        n, c = shape[:2]
        return made.as_strided((n, c, *(1,) * dims), (c, 1, *(c,) * dims))
    return made


adaptive_avg_pool2d, adaptive_avg_pool3d = _declare_adaptive(2), _declare_adaptive(3)


def _adaptive_avg_pool1d(self: Tensor, output_size: Ints) -> Tensor:
    """The means of `output_size` windows, as even as can be."""
    check_row("adaptive_avg_pool1d", self)
    check_one("adaptive_avg_pool1d", output_size=output_size)
    return adaptive_avg_pool2d(self.unsqueeze(-2), (1, *output_size)).squeeze(-2)


adaptive_avg_pool1d = publish_python(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size)", _adaptive_avg_pool1d, method=False
)
