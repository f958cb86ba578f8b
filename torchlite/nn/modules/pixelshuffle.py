"""Exchanging channels with pixels, as modules."""

from __future__ import annotations

from ...core.machine import Tensor
from .. import functional as F
from .fields import fields
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


@fields
class PixelShuffle(Module):
    """Images made larger by a factor, out of their channels."""

    upscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


@fields
class PixelUnshuffle(Module):
    """Images made smaller by a factor, their pixels becoming channels."""

    downscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
