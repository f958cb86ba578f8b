"""Pools as modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any

from ...core.machine import Tensor
from .. import functional as F
from ._sizes import Spatial, for_each
from .fields import fields

__all__ = [
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "AvgPool1d", "AvgPool2d",
    "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
]  # fmt: skip

Ints = int | tuple[int, ...]


# ---- the largest value of every window


@fields(hidden="return_indices")
class _MaxPoolNd(Spatial):
    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def complete(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool1d(_MaxPoolNd, dims=1):
    """The largest value of every window of a sequence."""


class MaxPool2d(_MaxPoolNd, dims=2):
    """The largest value of every window of an image."""


class MaxPool3d(_MaxPoolNd, dims=3):
    """The largest value of every window of a volume."""


@fields(constants="")
class _MaxUnpoolNd(Spatial):
    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0

    def complete(self) -> None:
        _for_each_dimension(self)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self.dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


def _for_each_dimension(module: Any) -> None:
    module.kernel_size = for_each(module.kernel_size, module.dims)
    module.stride = module.kernel_size if module.stride is None else for_each(module.stride, module.dims)
    module.padding = for_each(module.padding, module.dims)


class MaxUnpool1d(_MaxUnpoolNd, dims=1):
    """Puts values of a sequence back to where `MaxPool1d` found them."""


class MaxUnpool2d(_MaxUnpoolNd, dims=2):
    """Puts values of an image back to where `MaxPool2d` found them."""


class MaxUnpool3d(_MaxUnpoolNd, dims=3):
    """Puts values of a volume back to where `MaxPool3d` found them."""


@fields(constants="kernel_size return_indices output_size output_ratio", repr=False)
class _FractionalMaxPoolNd(Spatial):
    kernel_size: Ints
    output_size: Ints | None = None
    output_ratio: float | tuple[float, ...] | None = None
    return_indices: bool = False
    _random_samples: InitVar[Tensor | None] = None

    def complete(self, _random_samples: Tensor | None) -> None:
        n, size, ratio = self.dims, self.output_size, self.output_ratio
        if n == 3 and any(k <= 0 for k in for_each(self.kernel_size, n)):
            raise ValueError(f"kernel_size must be greater than 0, but got {self.kernel_size}")
        self.kernel_size = for_each(self.kernel_size, n)
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if size is None else for_each(size, n)
        self.output_ratio = None if ratio is None else for_each(ratio, n)
        if size is None and ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if size is not None and ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < self.output_ratio[at] < 1 for at in range(n)):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd, dims=2):
    """The largest values of windows of an image at random distances."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, dims=3):
    """The largest values of windows of a volume at random distances."""


@fields(hidden="return_indices")
class _AdaptiveMaxPoolNd(Spatial):
    output_size: Any
    return_indices: bool = False

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"adaptive_max_pool{self.dims}d")(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, dims=1):
    """The largest values of as many windows of a sequence as are asked for."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, dims=2):
    """The largest values of as many windows of an image as are asked for."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, dims=3):
    """The largest values of as many windows of a volume as are asked for."""


# ---- means


@fields(hidden="ceil_mode count_include_pad")
class _AvgPoolNd(Spatial):
    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0
    ceil_mode: bool = False
    count_include_pad: bool = True


@fields(constants="")
class AvgPool1d(_AvgPoolNd, dims=1):
    """The mean of every window of a sequence."""

    def complete(self) -> None:
        _for_each_dimension(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad  # type: ignore[arg-type]
        )  # fmt: skip


@fields(hidden="divisor_override")
class _DividedAvgPool(_AvgPoolNd):
    """One whose sums may be divided by another number than that of their elements."""

    divisor_override: int | None = None

    def complete(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self.dims}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_DividedAvgPool, dims=2):
    """The mean of every window of an image."""


class AvgPool3d(_DividedAvgPool, dims=3):
    """The mean of every window of a volume."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding": 0, "ceil_mode": False, "count_include_pad": True} | state)


@fields
class _AdaptiveAvgPoolNd(Spatial):
    output_size: Any

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self.dims}d")(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, dims=1):
    """The means of as many windows of a sequence as are asked for."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, dims=2):
    """The means of as many windows of an image as are asked for."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, dims=3):
    """The means of as many windows of a volume as are asked for."""


# ---- norms


@fields
class _LPPoolNd(Spatial):
    norm_type: float
    kernel_size: Ints
    stride: Ints | None = None
    ceil_mode: bool = False

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self.dims}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd, dims=1):
    """The norm of every window of a sequence."""


class LPPool2d(_LPPoolNd, dims=2):
    """The norm of every window of an image."""


class LPPool3d(_LPPoolNd, dims=3):
    """The norm of every window of a volume."""
