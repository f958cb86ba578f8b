"""Windows of images as columns, as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ...core.tensor import Tensor

__all__ = ["Fold", "Unfold"]

Ints = int | tuple[int, ...]


class Fold(Module):
    """Images as sums of their windows, which are columns."""

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]  # noqa: RUF012
    output_size: Ints
    kernel_size: Ints
    dilation: Ints
    padding: Ints
    stride: Ints

    def __init__(
        self, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """All windows of images as columns."""

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]  # noqa: RUF012
    kernel_size: Ints
    dilation: Ints
    padding: Ints
    stride: Ints

    def __init__(self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
