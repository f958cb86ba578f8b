"""The weight and bias by which norms scale and shift what they have normalized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.values import DeviceLike
from ...operations.making.factories import empty
from .. import init
from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


def register_affine(module: Module, shape: Any, affine: bool, bias: bool, device: DeviceLike, dtype: Any) -> None:
    """Give a module a weight and a bias of this shape, or None for what is not wanted."""
    for name, wanted in (("weight", affine), ("bias", affine and bias)):
        made = Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
        module.register_parameter(name, made)


def reset_affine(module: Any, affine: bool) -> None:
    """Set the weight to one and the bias to zero."""
    if affine:
        init.ones_(module.weight)
        if module.bias is not None:
            init.zeros_(module.bias)
