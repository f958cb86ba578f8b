"""Pools as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .. import functional as F
from ._sizes import for_each
from .module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.tensor import Tensor

__all__ = [
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "AvgPool1d", "AvgPool2d",
    "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
]  # fmt: skip

Ints = int | tuple[int, ...]


# ---- the largest value of every window


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]  # noqa: RUF012
    dims: ClassVar[int]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest value of every window of a sequence."""

    dims = 1


class MaxPool2d(_MaxPoolNd):
    """The largest value of every window of an image."""

    dims = 2


class MaxPool3d(_MaxPoolNd):
    """The largest value of every window of a volume."""

    dims = 3


class _MaxUnpoolNd(Module):
    dims: ClassVar[int]
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = for_each(kernel_size, self.dims)
        self.stride = for_each(kernel_size if stride is None else stride, self.dims)
        self.padding = for_each(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self.dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts values of a sequence back to where `MaxPool1d` found them."""

    dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts values of an image back to where `MaxPool2d` found them."""

    dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts values of a volume back to where `MaxPool3d` found them."""

    dims = 3


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]  # noqa: RUF012
    dims: ClassVar[int]
    kernel_size: tuple[int, ...]
    return_indices: bool
    output_size: tuple[int, ...] | None
    output_ratio: tuple[float, ...] | None

    def __init__(
        self,
        kernel_size: Ints,
        output_size: Ints | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n = self.dims
        if any(k <= 0 for k in for_each(kernel_size, n)):
            raise ValueError(f"kernel_size must be greater than zero, but got {kernel_size}")
        self.kernel_size = for_each(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else for_each(output_size, n)
        self.output_ratio = None if output_ratio is None else for_each(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest values of windows of an image at random distances."""

    dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest values of windows of a volume at random distances."""

    dims = 3


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]  # noqa: RUF012
    dims: ClassVar[int]
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"adaptive_max_pool{self.dims}d")(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest values of as many windows of a sequence as are asked for."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest values of as many windows of an image as are asked for."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest values of as many windows of a volume as are asked for."""

    dims = 3


# ---- means


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]  # noqa: RUF012
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of a sequence."""

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = for_each(kernel_size, 1)
        self.stride = for_each(kernel_size if stride is None else stride, 1)
        self.padding = for_each(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )  # fmt: skip


class _DividedAvgPool(_AvgPoolNd):
    """One whose sums may be divided by another number than that of their elements."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]  # noqa: RUF012
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_DividedAvgPool):
    """The mean of every window of an image."""

    dims = 2


class AvgPool3d(_DividedAvgPool):
    """The mean of every window of a volume."""

    dims = 3

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding", 0)
        self.__dict__.setdefault("ceil_mode", False)
        self.__dict__.setdefault("count_include_pad", True)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]  # noqa: RUF012
    dims: ClassVar[int]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self.dims}d")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of as many windows of a sequence as are asked for."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of as many windows of an image as are asked for."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of as many windows of a volume as are asked for."""

    dims = 3


# ---- norms


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]  # noqa: RUF012
    dims: ClassVar[int]
    norm_type: float
    ceil_mode: bool

    def __init__(
        self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self.dims}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of every window of a sequence."""

    dims = 1


class LPPool2d(_LPPoolNd):
    """The norm of every window of an image."""

    dims = 2


class LPPool3d(_LPPoolNd):
    """The norm of every window of a volume."""

    dims = 3
