"""Custom functions that modules are made with."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.values import shown_in


@shown_in("torch.nn.modules._functions")
class BackwardHookFunction(Function):
    """Hands all tensors on: one node for them all, to hang hooks on."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args
