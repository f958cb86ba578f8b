"""Windows of images as columns, as modules."""

from __future__ import annotations

from ...core.machine import Tensor
from .. import functional as F
from .fields import fields
from .module import Module

__all__ = ["Fold", "Unfold"]

Ints = int | tuple[int, ...]


@fields
class Fold(Module):
    """Images as sums of their windows, which are columns."""

    output_size: Ints
    kernel_size: Ints
    dilation: Ints = 1
    padding: Ints = 0
    stride: Ints = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


@fields
class Unfold(Module):
    """All windows of images as columns."""

    kernel_size: Ints
    dilation: Ints = 1
    padding: Ints = 0
    stride: Ints = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)
