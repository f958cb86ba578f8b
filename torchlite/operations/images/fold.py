"""Windows of images as columns, and images as sums of columns: `unfold` and `fold` of torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import LaidOp, publish_python
from ...core.machine import LEADING, Tensor, requires_grad
from ...core.state import local
from ...core.values import Array, Backend, dt
from ...kernels.windows import steps
from ..making.windows import Ints, taps
from ..vocabulary import INEXACT
from .max_pool import check_dtype

_OPTIONS = "int[] kernel_size, int[] dilation, int[] padding, int[] stride"


def _count(size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    return tuple([steps(*numbers) for numbers in zip(size, kernel, stride, padding, dilation)])


def _im2col(backend: Backend, self: Array, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    xp = backend.xp
    *lead, channels, height, width = self.shape
    count = _count((height, width), kernel_size, dilation, padding, stride)
    places = taps((height, width), count, kernel_size, stride, padding, dilation)
    made = xp.zeros((*lead, channels, len(places), *count), self.dtype)
    for tap, (into, source) in enumerate(places):
        made[..., tap, :, :][into] = self[source]
    return made.reshape((*lead, channels * len(places), math.prod(count)))


def _col2im(
    backend: Backend, self: Array, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Any:
    xp = backend.xp
    *lead, rows, _ = self.shape
    count = _count(output_size, kernel_size, dilation, padding, stride)
    places = taps(output_size, count, kernel_size, stride, padding, dilation)
    channels = rows // len(places)
    columns = self.reshape((*lead, channels, len(places), *count))
    made = xp.zeros((*lead, channels, *output_size), self.dtype)
    for tap, (into, source) in enumerate(places):
        made[source] += columns[..., tap, :, :][into]
    return made


im2col = LaidOp(
    f"im2col(Tensor self, {_OPTIONS})",
    _im2col,
    {
        "self": lambda g, self_shape, kernel_size, dilation, padding, stride: col2im.apply(
            g, tuple(self_shape[-2:]), kernel_size, dilation, padding, stride
        )
    },
    node="Im2ColBackward0", linear=True, batch=LEADING,
    shows="dilation kernel_size padding self_sym_argsize_minus_1 self_sym_argsize_minus_2 stride",
)  # fmt: skip
col2im: LaidOp = LaidOp(
    f"col2im(Tensor self, int[] output_size, {_OPTIONS})",
    _col2im,
    {"self": lambda g, kernel_size, dilation, padding, stride: im2col.apply(g, kernel_size, dilation, padding, stride)},
    node="Col2ImBackward0", linear=True, batch=LEADING,
)  # fmt: skip


def _check(kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    for name, numbers in (
        ("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride)
    ):  # fmt: skip
        if len(numbers) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(numbers)}")
    for what, short, numbers, least in (
        ("kernel size should be greater than zero", "kernel", kernel_size, 1),
        ("dilation should be greater than zero", "dilation", dilation, 1),
        ("padding should be non-negative", "pad", padding, 0),
        ("stride should be greater than zero", "stride", stride, 1),
    ):
        if min(numbers) < least:
            raise RuntimeError(f"{what}, but got {short}_height: {numbers[0]} {short}_width: {numbers[1]}")


def _described(kernel: Ints, dilation: Ints, padding: Ints, stride: Ints | None = None) -> str:
    return f"kernel_size={kernel}, dilation={dilation}, padding={padding}" + (f", stride={stride}" if stride else "")


def _unfold(self: Tensor, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    """All windows of images as columns."""
    if local.state.mode.grad and requires_grad(self):  # so that a node notes both sizes first
        self.size(-1), self.size(-2)
    _check(kernel, dilation, padding, stride)
    shape = self._array.shape
    if len(shape) < 3 and self.size(1):
        self.size(2)
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(shape)}"
        )
    count = _count(shape[-2:], kernel, dilation, padding, stride)
    if min(count) < 1:
        made = ", ".join(str(max(n, 0)) for n in count)
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, {_described(kernel, dilation, padding)}, calculated "
            f"shape of the array of sliding blocks as ({made}), but its components must be at least one."
        )
    check_dtype("im2col_out_cpu", self, INEXACT - {dt.complex32} | {dt.bool_})
    return im2col.apply(self, kernel, dilation, padding, stride)


def _fold(self: Tensor, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor:
    """Images as sums of their windows, which are columns."""
    if len(size) != 2:
        raise RuntimeError(f"It is expected output_size equals to 2, but got size {len(size)}")
    _check(kernel, dilation, padding, stride)
    shape = self._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    at = len(shape) - 2
    if shape[at] % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[at]} and kernel_size={kernel}."
        )
    count = _count(size, kernel, dilation, padding, stride)
    given = f"Given output_size={size}, {_described(kernel, dilation, padding, stride)}"
    if shape[-1] != math.prod(count):
        raise RuntimeError(
            f"{given}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{count[0]} * {count[1]} = {math.prod(count)}, but got input.size(2)={shape[-1]}."
        )
    if min(count) < 1:
        raise RuntimeError(
            f"{given}, calculated shape of the array of sliding blocks as ({count[0]}, {count[1]}), which is too small "
            "(non-positive)"
        )
    check_dtype("col2im_out_cpu", self, INEXACT | {dt.bool_})
    return col2im.apply(self, size, kernel, dilation, padding, stride)


_PUBLIC = "int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1"
unfold = publish_python(f"unfold(Tensor self, {_PUBLIC})", _unfold, function=False, method=False)
fold = publish_python(f"fold(Tensor self, int[2] output_size, {_PUBLIC})", _fold, function=False, method=False)
