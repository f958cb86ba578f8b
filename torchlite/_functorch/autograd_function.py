"""`torch._functorch.autograd_function`: custom Functions on batches."""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..func.batched_function import VmapInfo

__all__ = ["VmapInfo", "custom_function_call", "has_overridden_vmap_rule"]


def has_overridden_vmap_rule(autograd_function: type[Function]) -> bool:
    return autograd_function.vmap is not Function.vmap


def custom_function_call(autograd_function: type[Function], *operands: Any) -> Any:
    """Call a Function that has a `setup_context`, inside of transforms or not."""
    return autograd_function.apply(*operands)
