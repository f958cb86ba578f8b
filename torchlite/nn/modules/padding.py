"""Padding as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .. import functional as F
from ._sizes import for_each
from .module import Module

if TYPE_CHECKING:
    from ...core.tensor import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

Ints = int | tuple[int, ...]


class _PadNd(Module):
    """Padding with what the image itself has; `padding` is for before and after each dimension, from the last."""

    __constants__ = ["padding"]  # noqa: RUF012
    dims: ClassVar[int]
    mode: ClassVar[str]
    padding: tuple[int, ...]

    def __init__(self, padding: Ints) -> None:
        super().__init__()
        self.padding = for_each(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads a sequence with what is at its other end."""

    dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads an image with what is at its other end."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads a volume with what is at its other end."""

    dims = 3


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads a sequence with its reflection."""

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads an image with its reflection."""

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads a volume with its reflection."""

    dims = 3


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads a sequence with its first and last values."""

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads an image with the values at its border."""

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads a volume with the values at its border."""

    dims = 3


class _ConstantPadNd(Module):
    """Padding with one value."""

    __constants__ = ["padding", "value"]  # noqa: RUF012
    dims: ClassVar[int]
    value: float
    padding: tuple[int, ...]

    def __init__(self, padding: Ints, value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = for_each(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads a sequence with one value."""

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads an image with one value."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads a volume with one value."""

    dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Ints) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads a sequence with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads an image with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads a volume with zeros."""
