"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: M, memory_format: Any, kinds: tuple[type[Module], ...]) -> M:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay the weights of all two-dimensional convolutions in a module out in `memory_format`."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Lay the weights of all three-dimensional convolutions in a module out in `memory_format`."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
