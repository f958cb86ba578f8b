"""Padding as modules."""

from __future__ import annotations

from typing import ClassVar

from ...core.machine import Tensor
from .. import functional as F
from ._sizes import Spatial, for_each
from .fields import fields

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

Ints = int | tuple[int, ...]


@fields(bare="padding")
class _PadNd(Spatial):
    """Padding with what the image itself has; `padding` is for before and after each dimension, from the last."""

    mode: ClassVar[str]
    padding: Ints

    def complete(self) -> None:
        self.padding = for_each(self.padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)  # type: ignore[arg-type]


class _CircularPadNd(_PadNd):
    mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1):
    """Pads a sequence with what is at its other end."""


class CircularPad2d(_CircularPadNd, dims=2):
    """Pads an image with what is at its other end."""


class CircularPad3d(_CircularPadNd, dims=3):
    """Pads a volume with what is at its other end."""


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, dims=1):
    """Pads a sequence with its reflection."""


class ReflectionPad2d(_ReflectionPadNd, dims=2):
    """Pads an image with its reflection."""


class ReflectionPad3d(_ReflectionPadNd, dims=3):
    """Pads a volume with its reflection."""


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, dims=1):
    """Pads a sequence with its first and last values."""


class ReplicationPad2d(_ReplicationPadNd, dims=2):
    """Pads an image with the values at its border."""


class ReplicationPad3d(_ReplicationPadNd, dims=3):
    """Pads a volume with the values at its border."""


@fields
class _ConstantPadNd(Spatial):
    """Padding with one value."""

    padding: Ints
    value: float

    def complete(self) -> None:
        self.padding = for_each(self.padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)  # type: ignore[arg-type]


class ConstantPad1d(_ConstantPadNd, dims=1):
    """Pads a sequence with one value."""


class ConstantPad2d(_ConstantPadNd, dims=2):
    """Pads an image with one value."""


class ConstantPad3d(_ConstantPadNd, dims=3):
    """Pads a volume with one value."""


@fields(constants="", bare="padding", hidden="value")
class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Ints) -> None:
        super().__init__(padding, 0.0)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads a sequence with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads an image with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads a volume with zeros."""
