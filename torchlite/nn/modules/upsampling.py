"""Interpolation as modules."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor
from .. import functional as F
from .fields import fields, made
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]

Ints = int | tuple[int, ...]
Floats = float | tuple[float, ...]


@fields(constants="size scale_factor mode align_corners name recompute_scale_factor")
class Upsample(Module):
    """Images in another size, given as such or by factors."""

    name: str = made()
    size: Ints | None = None
    scale_factor: Floats | None = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def complete(self) -> None:
        self.name = type(self).__name__
        factor = self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor = tuple([float(f) for f in factor])
        else:
            self.scale_factor = float(factor) if factor else None

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images in another size, by their nearest elements."""

    def __init__(self, size: Ints | None = None, scale_factor: Floats | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images in another size, interpolated linearly between aligned corners."""

    def __init__(self, size: Ints | None = None, scale_factor: Floats | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
