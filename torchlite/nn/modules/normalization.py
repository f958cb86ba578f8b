"""Normalization by layer and by groups of channels as modules."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar
from typing import Any

from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from ...operations.making.factories import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .affine import register_affine, reset_affine
from .fields import Wanted, fields, wanted
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


@fields(bare="size")
class LocalResponseNorm(Module):
    """The input over a power of `k` plus `alpha` times the mean square of `size` neighbouring channels."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


@fields(constants="", bare="size")
class CrossMapLRN2d(Module):
    """`LocalResponseNorm` of images."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


def _shape(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, numbers.Integral) else tuple(given)


@fields(bare="normalized_shape")
class LayerNorm(Module):
    """The input normalized along its last dimensions, those of `normalized_shape`."""

    normalized_shape: int | Sequence[int]
    eps: float = 1e-5
    elementwise_affine: bool = True
    bias: Wanted = wanted(default=True)
    device: InitVar[DeviceLike] = None
    dtype: InitVar[Any] = None

    def complete(self, bias: bool, device: DeviceLike, dtype: Any) -> None:
        self.normalized_shape = _shape(self.normalized_shape)
        register_affine(self, self.normalized_shape, self.elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        reset_affine(self, self.elementwise_affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)  # type: ignore[arg-type]


@fields(bare="num_groups num_channels")
class GroupNorm(Module):
    """The input normalized over the channels of each group."""

    num_groups: int
    num_channels: int
    eps: float = 1e-5
    affine: bool = True
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    _: KW_ONLY
    bias: Wanted = wanted(default=True)

    def complete(self, device: DeviceLike, dtype: Any, bias: bool) -> None:
        channels, groups = self.num_channels, self.num_groups
        if channels % groups:
            raise ValueError(f"num_channels ({channels}) must be divisible by num_groups ({groups})")
        register_affine(self, channels, self.affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        reset_affine(self, self.affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


@fields(bare="normalized_shape")
class RMSNorm(Module):
    """The input over the root of its mean square along the last dimensions."""

    normalized_shape: int | Sequence[int]
    eps: float | None = None
    elementwise_affine: bool = True
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(self, device: DeviceLike, dtype: Any) -> None:
        self.normalized_shape = shape = _shape(self.normalized_shape)
        weight = Parameter(empty(shape, device=device, dtype=dtype)) if self.elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to one."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)  # type: ignore[arg-type]
