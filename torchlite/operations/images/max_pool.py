"""The largest value of every window of an image: `max_pool1d`, `max_pool2d`, `max_pool3d` and `max_unpool`."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import By, LaidOp, publish_python
from ...core.machine import LEADING, Tensor, requires_grad
from ...core.state import is_watched
from ...core.values import Array, Backend, dt, errors, strided
from ...core.values.determinism import determinism
from ...kernels.windows import steps
from ..making.windows import Ints, channels_inside, like, spread
from ..vocabulary import REAL, zero_gradient
from .pool_kernels import Geometry, gradient_of_maxima, maxima_and_places, maxima_and_taps, picked, put_in_images

_NUMBERS = {1: "one", 2: "two", 3: "three"}


def options(
    name: str, dims: int, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints = (1,)
) -> tuple[Ints, Ints, Ints, Ints]:
    """Window, stride, padding and dilation in every dimension."""
    tuple_of = f"a tuple of {_NUMBERS[dims]} ints"
    for numbers, message in (
        (kernel_size, f"kernel_size must either be a single int, or {tuple_of}"),
        (stride or (1,), f"stride must either be omitted, a single int, or {tuple_of}"),
        (padding, f"padding must either be a single int, or {tuple_of}"),
        (dilation, f"dilation must be either a single int, or {tuple_of}"),
    ):
        if len(numbers) not in (1, dims):
            raise RuntimeError(f"{name}: {message}")
        if not -(1 << 31) <= min(numbers) <= max(numbers) < 1 << 31:
            raise RuntimeError("value cannot be converted to type int without overflow")
    return (
        spread(kernel_size, dims), spread(stride or kernel_size, dims), spread(padding, dims), spread(dilation, dims)
    )  # fmt: skip


def count_windows(size: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Geometry:
    """All there is to say about the windows, once it is known to make sense."""
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    for p, k, d in zip(padding, window, dilation):
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    for name, numbers, axis in (("stride", stride, "d"), ("dilation", dilation, "dilation")):
        if min(numbers) <= 0:
            said = " ".join([f"{axis}{letter}: {n}" for letter, n in zip("THW"[3 - len(numbers) :], numbers)])
            raise RuntimeError(f"{name} should be greater than zero, but got {said}")
    count = tuple([steps(*numbers, ceil_mode) for numbers in zip(size, window, stride, padding, dilation)])
    return count, window, stride, padding, dilation


def check_count(shape: Ints, count: Ints) -> None:
    """That every dimension has room for a window; `shape` is that of one image with its channels."""
    if min(count) < 1:
        have, made = "x".join(map(str, shape)), "x".join(map(str, (shape[0], *count)))
        raise RuntimeError(f"Given input size: ({have}). Calculated output size: ({made}). Output size is too small")


def geometry_of(values: Any, size: Ints) -> Geometry:
    """The windows, as the arguments of a pool describe them."""
    window, stride, padding, dilation, ceil_mode = values
    stride = stride or window
    count = tuple([steps(*numbers, ceil_mode) for numbers in zip(size, window, stride, padding, dilation)])
    reached = [min(k, (n + p - 1) // d + 1) for n, k, p, d in zip(size, window, padding, dilation)]  # of the image
    return count, tuple(reached), stride, padding, dilation


def _max_pool(backend: Backend, self: Array, *values: Any) -> tuple[Any, ...]:
    geometry = geometry_of(values, self.shape[self.ndim - len(values[0]) :])
    best, taps = maxima_and_taps(backend, self, geometry)
    return like(backend, best.astype(self.dtype, copy=False), self), like(backend, taps, self)


def _with_indices(backend: Backend, self: Array, *values: Any) -> tuple[Any, ...]:
    geometry = geometry_of(values, self.shape[self.ndim - len(values[0]) :])
    best, places = maxima_and_places(backend, self, geometry)
    return like(backend, best.astype(self.dtype, copy=False), self), like(backend, places, self)


def _max_pool_backward(backend: Backend, g: Array, self: Array, taps: Any, *values: Any) -> Any:
    geometry = geometry_of(values, self.shape[self.ndim - len(values[0]) :])
    return like(backend, gradient_of_maxima(backend.xp, g, self.shape, taps, geometry), self)


def places_ops(name: str, dims: int) -> tuple[LaidOp, LaidOp]:
    """The two ops that lead gradients to, and from, where maxima were found: `put`, called `name`, and `pick`."""

    def kernel(backend: Backend, g: Array, self: Array, indices: Array) -> Any:
        return like(backend, put_in_images(backend.xp, g, indices, self.shape[self.ndim - dims :]), self)

    to_image = LaidOp(
        f"{name}(Tensor grad_output, Tensor self, Tensor indices)",
        kernel,
        {"grad_output": lambda g, indices: from_image.apply(g, indices), "self": zero_gradient, "indices": None},
        node="".join([w.capitalize() for w in name.split("_")]).replace(f"{dims}d", f"{dims}D") + "Backward0",
        batch=LEADING,
    )
    from_image = LaidOp(
        f"_{name}_picked(Tensor self, Tensor indices)",
        lambda backend, self, indices: picked(backend.xp, self, indices, dims),
        {"self": to_image, "indices": None},
        batch=LEADING,
    )
    return to_image, from_image


# ---- what the functions check


def check_dtype(name: str, self: Tensor, dtypes: Any = REAL) -> None:
    if self.dtype not in dtypes:
        raise errors.not_implemented_for(name, self.dtype)


def check_not_empty(shape: Ints) -> None:
    """That only the batch of images may be empty."""
    if 0 in shape[len(shape) - 3 :]:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )


def _check_3d(shape: Ints) -> None:
    if 0 in shape[len(shape) - 4 :]:  # whichever it is, PyTorch names the first
        raise RuntimeError(
            "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive "
            f"length, but input has a shape of {list(shape)} and non-batch dimension 0 has length zero!"
        )


def _check_1d(self: Tensor, given: dict[str, Ints], ceil_mode: bool, with_places: bool) -> None:
    shape = self._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(shape)}"
        )
    for name, numbers in given.items():
        if len(numbers) != 1:
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size "
                f"{len(numbers)}"
            )
    if with_places:  # which are found in two dimensions
        return
    window, stride, padding, dilation = [numbers[0] for numbers in given.values()]
    for name, number in (("kernel_size", window), ("stride", stride)):
        if number <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {number}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > ((window - 1) * dilation + 1) // 2 and dilation > 0:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={window}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    count = steps(shape[-1], window, stride, padding, dilation, ceil_mode)
    if count <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")


# ---- the ops


def _checked(op: LaidOp, dims: int, check: Any, places: LaidOp | None = None) -> Any:
    """The function that runs a pool on images of so many dimensions.

    Where there is an op that finds the places of maxima, too, their values alone are given; a dispatch mode sees that.
    """
    name = f"max_pool{dims}d"

    def pool(self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
        """The largest value of every window."""
        window, step, padding, dilation = options(name, dims, kernel_size, stride, padding, dilation)
        shape = self._array.shape
        if len(shape) not in (dims + 1, dims + 2):
            raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
        count, *_ = count_windows(shape[len(shape) - dims :], window, step, padding, dilation, ceil_mode)
        check(shape)
        check_count(shape[len(shape) - dims - 1 :], count)
        check_dtype(name, self)
        watched = is_watched()
        run = places if places is not None and watched else op
        made = run.apply(self, window, step if stride or not watched else [], padding, dilation, ceil_mode)
        return made if places is None else made[0]

    return pool


def _declare(dims: int, check: Any) -> tuple[Any, Any]:
    """The functions for images of so many dimensions: without the places of the maxima, and with them."""
    name, several = f"max_pool{dims}d", f"int[{dims}]"
    node = f"MaxPool{dims}DWithIndicesBackward0"
    numbers = f"{several} kernel_size, {several} stride, {several} padding, {several} dilation, bool ceil_mode"
    to_image, from_image = places_ops(f"{name}_with_indices_backward", dims)

    with_places = LaidOp(
        f"{name}_with_indices(Tensor self, {several} kernel_size, {several} stride=[], {several} padding=0, "
        f"{several} dilation=1, bool ceil_mode=False) -> (Tensor result0, Tensor result1)",
        _with_indices,
        {"self": By(to_image, {"indices": "result1"})},
        node=node, shows="kernel_size stride padding dilation ceil_mode", batch=LEADING,
    )  # fmt: skip

    def second(g: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any) -> Any:
        _, places = with_places.apply(self.detach(), kernel_size, stride, padding, dilation, ceil_mode)
        return from_image.apply(g, places)

    backward = LaidOp(
        f"_{name}_backward(Tensor grad_output, Tensor self, Tensor taps, {numbers})", _max_pool_backward,
        {"grad_output": second, "self": zero_gradient, "taps": None},
        node=f"MaxPool{dims}DWithIndicesBackwardBackward0", batch=LEADING,
    )  # fmt: skip

    alone = LaidOp(
        f"{name}(Tensor self, {numbers}) -> (Tensor result, Tensor taps)", _max_pool, {"self": backward}, node=node,
        batch=LEADING,
    )  # fmt: skip

    arguments = (
        f"Tensor self, {several} kernel_size, {several} stride=[], {several} padding=[0], {several} dilation=[1], "
        "bool ceil_mode=False"
    )
    return (
        publish_python(f"{name}({arguments})", _checked(alone, dims, check, with_places), method=False),
        publish_python(
            f"{name}_with_indices({arguments})", _checked(with_places, dims, check), function=False, method=False,
        ),
    )


max_pool2d, max_pool2d_with_indices = _declare(2, check_not_empty)
max_pool3d, max_pool3d_with_indices = _declare(3, _check_3d)


def _as_row(pool: Any) -> Any:
    def max_pool1d(
        self: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> Any:
        """The largest value of every window."""
        given = {"kernel_size": kernel_size, "stride": stride or kernel_size, "padding": padding, "dilation": dilation}
        _check_1d(self, given, ceil_mode, pool is not max_pool2d)
        if pool is max_pool2d and self.dtype not in dt.FLOATS:
            raise errors.not_implemented_for("max_pool2d" if requires_grad(self) else "max_pool1d_impl", self.dtype)
        if pool is max_pool2d and is_watched() and requires_grad(self):  # which gives the indices, too
            return max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
        window, stride, padding, dilation = given.values()
        made = pool(self.unsqueeze(-2), (1, *window), (1, *stride), (0, *padding), (1, *dilation), ceil_mode)
        if isinstance(made, tuple):
            return tuple([m.squeeze(-2) for m in made])
        made = made.squeeze(-2)
        return made if requires_grad(made) else made.contiguous()  # PyTorch has a kernel for rows without a history

    return max_pool1d


_ROWS = (
    "Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False"
)
publish_python(f"max_pool1d({_ROWS})", _as_row(max_pool2d), method=False, by_form=False)
max_pool1d_with_indices = publish_python(
    f"max_pool1d_with_indices({_ROWS}) -> (Tensor result0, Tensor result1)",
    _as_row(max_pool2d_with_indices),
    method=False,
)


# ---- max_unpool: values put back to where they were found


def _check_unpool(self: Tensor, indices: Tensor, size: Ints, dims: int) -> None:
    name = f"max_unpooling{dims}d_forward_out_cpu"
    if indices.dtype is not dt.int64:
        got = f" but got: {indices.dtype.legacy}" if dims == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if len(size) != dims:
        raise RuntimeError(
            f"There should be exactly {_NUMBERS[dims]} elements ({'depth, ' * (dims == 3)}height, width) in "
            f"output_size, but got {len(size)} elements."
        )
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{self.dim()} dimensions."
        )
    if self._array.shape != indices._array.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    if 0 in self._array.shape[self.dim() - dims - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got {list(self.shape)} with "
            f"dimension {self._array.shape.index(0, self.dim() - dims - 1)} being empty."
        )


def _unpool(backend: Backend, self: Array, indices: Array, output_size: Ints) -> Any:
    """Of several values for one place, the last is taken. Volumes lie row by row."""
    xp = backend.xp
    cells = math.prod(output_size)
    lead = self.shape[: self.ndim - len(output_size)]
    images = math.prod(lead)
    if indices.size and backend.values:
        outside = (indices < 0) | (indices >= cells)
        if outside.any():
            raise RuntimeError(
                f"Found an invalid max index: {indices[outside][0].item()} (output volumes are of size "
                f"{'x'.join(map(str, output_size))})"
            )
    made = xp.zeros(images * cells, self.dtype)
    if self.size:
        flat = indices.reshape((images, -1)) + xp.arange(0, images * cells, cells).reshape((-1, 1))
        made[flat.reshape(-1)] = self.reshape(-1)
    made = made.reshape((*lead, *output_size))
    return like(backend, made, self) if len(output_size) == 2 else made


def _declare_unpool(dims: int) -> Any:
    name = f"max_unpool{dims}d"
    several = f"int[{dims}]"

    def picked(g: Tensor, indices: Tensor) -> Tensor:
        lead = indices.shape[:-dims]
        places = indices.reshape((*lead, -1))
        return g.contiguous().view((*lead, -1)).gather(-1, places).view(indices.shape)

    op = LaidOp(
        f"{name}(Tensor self, Tensor indices, int[] output_size)",
        _unpool,
        {"self": picked, "indices": None},
        node=f"MaxUnpool{dims}DBackward0", linear=True, batch=LEADING,
    )  # fmt: skip

    def unpool(
        self: Tensor, indices: Tensor, output_size: Ints, stride: Ints | None = None, padding: Ints | None = None
    ) -> Tensor:
        """Images of zeros with values where the indices say."""
        determinism.alert(f"max_unpooling{dims}d_forward_out")
        _check_unpool(self, indices, output_size, dims)
        for option, numbers in (("stride", stride), ("padding", padding)):
            if numbers is not None and len(numbers) != dims:
                raise RuntimeError(
                    f"There should be exactly {_NUMBERS[dims]} elements (depth, height, width) in {option}, but got: "
                    f"{len(numbers)} elements."
                )
        if stride is not None and min(stride) < 1:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
        if self._array.size and self._backend.layout is strided:
            inside = dims == 2 and self.dim() == 4 and channels_inside(self._array.shape, self.stride())
            check_dtype(f"{name}_channels_last" if inside else name, self, dt.FLOATS)
        return op.apply(self, indices, output_size)

    more = "" if dims == 2 else f", {several} stride, {several} padding"
    return publish_python(
        f"{name}(Tensor self, Tensor indices, {several} output_size{more})", unpool, function=False, method=False
    )


max_unpool2d, max_unpool3d = _declare_unpool(2), _declare_unpool(3)
