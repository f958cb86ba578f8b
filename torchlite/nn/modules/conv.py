"""Convolutions as modules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any, ClassVar

from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from ...operations.making.factories import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from ._sizes import Spatial, for_each
from .fields import Wanted, fields, made
from .lazy import LazyModuleMixin, lazy_twin
from .utils import _pair as _pair
from .utils import _single as _single
from .utils import _triple as _triple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

Ints = int | tuple[int, ...]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


@fields(constants="stride padding dilation groups padding_mode output_padding in_channels out_channels kernel_size")
class _ConvNd(Spatial):
    """What all convolutions have: weights (out, in of a group, *kernel), or (in, out of a group, *kernel)."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any  # a word, or a number for each dimension
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    bias: Wanted
    padding_mode: str
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    weight: Tensor = made()

    def complete(self, bias: bool, device: DeviceLike, dtype: Any) -> None:
        _check_arguments(self)
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        made = Parameter(empty(self.out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        return channels[0], channels[1] // self.groups, *self.kernel_size

    def _padding_for_pad(self) -> list[int]:
        """The padding as `F.pad` takes it: before and after each dimension, from the last."""
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [n for total in reversed(totals) for n in (total // 2, total - total // 2)]
        return [n for p in reversed(self.padding) for n in (p, p)]

    def reset_parameters(self) -> None:
        """Draw new weights, evenly, the smaller the more values each result is made of."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zeros, ones = (0,) * len(self.kernel_size), (1,) * len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [
            f"{name}={value}"
            for name, value, usual in (
                ("padding", self.padding, zeros), ("dilation", self.dilation, ones),
                ("output_padding", self.output_padding, zeros), ("groups", self.groups, 1),
                ("bias", self.bias is not None, True), ("padding_mode", self.padding_mode, "zeros"),
            )
            if value != usual
        ]  # fmt: skip
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_arguments(conv: _ConvNd) -> None:
    if conv.groups <= 0:
        raise ValueError("groups must be a positive integer")
    if conv.in_channels % conv.groups:
        raise ValueError("in_channels must be divisible by groups")
    if conv.out_channels % conv.groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(conv.padding, str):
        if conv.padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {conv.padding!r}, should be one of {{'same', 'valid'}}")
        if conv.padding == "same" and any(s != 1 for s in conv.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if conv.padding_mode not in _PADDING_MODES:
        raise ValueError(
            "padding_mode must be one of {'reflect', 'replicate', 'circular', 'zeros'}, but got "
            f"padding_mode='{conv.padding_mode}'"
        )


class _Conv(_ConvNd):
    """A convolution of images with so many dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: str | Ints = 0,
        dilation: Ints = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: DeviceLike = None,
        dtype: dt.dtype | None = None,
    ) -> None:  # fmt: skip
        n = self.dims
        super().__init__(
            in_channels, out_channels, for_each(kernel_size, n), for_each(stride, n),
            padding if isinstance(padding, str) else for_each(padding, n), for_each(dilation, n), False, (0,) * n,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        conv = getattr(F, f"conv{self.dims}d")
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return conv(padded, weight, bias, self.stride, (0,) * self.dims, self.dilation, self.groups)
        return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv, dims=1):
    """A convolution of sequences, (n, channels, length)."""


class Conv2d(_Conv, dims=2):
    """A convolution of images, (n, channels, height, width)."""


class Conv3d(_Conv, dims=3):
    """A convolution of volumes, (n, channels, depth, height, width)."""


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0,
        output_padding: Ints = 0, groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = "zeros",
        device: DeviceLike = None, dtype: dt.dtype | None = None,
    ) -> None:  # fmt: skip
        n = self.dims
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, for_each(kernel_size, n), for_each(stride, n), for_each(padding, n),
            for_each(dilation, n), True, for_each(output_padding, n), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self, input: Tensor, output_size: Sequence[int] | None, stride: Sequence[int], padding: Sequence[int],
        kernel_size: Sequence[int], num_spatial_dims: int, dilation: Sequence[int] | None = None,
    ) -> list[int]:  # fmt: skip
        """The output padding that gives this size."""
        n = num_spatial_dims
        if output_size is None:
            return list(for_each(self.output_padding, n))
        batched = input.dim() == n + 2
        if len(output_size) == n + 1 + batched:
            output_size = output_size[1 + batched :]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + 1 + batched} elements "
                f"(got {len(output_size)})"
            )
        sizes = input.shape[1 + batched :]
        geometry = zip(sizes, stride, padding, dilation or (1,) * n, kernel_size)
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in geometry]
        most = [low + s - 1 for low, s in zip(least, stride)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                f"input of {sizes})"
            )
        return [size - low for size, low in zip(output_size, least)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        conv = getattr(F, f"conv_transpose{self.dims}d")
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        more = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self.dims, self.dilation
        )
        return conv(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class _ConvTransposeMixin(_ConvTransposeNd):
    """An older name of the base."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        message = "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs."
        warnings.warn(message, FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd, dims=1):
    """The transpose of a convolution of sequences."""


class ConvTranspose2d(_ConvTransposeNd, dims=2):
    """The transpose of a convolution of images."""


class ConvTranspose3d(_ConvTransposeNd, dims=3):
    """The transpose of a convolution of volumes."""


# ---- those that learn how many channels there are from the first input


class _LazyConvXdMixin(LazyModuleMixin):
    """The base of lazy convolutions."""

    groups: int
    in_channels: int
    out_channels: int
    weight: UninitializedParameter
    bias: UninitializedParameter | None
    dims: ClassVar[int]

    def _make_lazy(self, out_channels: int, bias: bool, device: DeviceLike, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of "
                f"size: {input.shape}"
            )
        return input.shape[1] if input.dim() == n + 2 else input.shape[0]


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self: Any, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: str | Ints = 0, dilation: Ints = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: DeviceLike = None,
        dtype: dt.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self: Any, out_channels: int, kernel_size: Ints, stride: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
        groups: int = 1, bias: bool = True, dilation: Ints = 1, padding_mode: str = "zeros", device: DeviceLike = None,
        dtype: dt.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._make_lazy(out_channels, bias, device, dtype)


LazyConv1d, LazyConv2d, LazyConv3d = [
    lazy_twin(kind, _LazyConv, kind, learns="`in_channels`") for kind in (Conv1d, Conv2d, Conv3d)
]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = [
    lazy_twin(kind, _LazyConvTranspose, kind, learns="`in_channels`")
    for kind in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
]
