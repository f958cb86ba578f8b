"""Batch normalization with the mean and the variance of the batches of all processes."""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor, functions
from .collectives import all_reduce


class _Total(Function):
    """The sum of the tensors of all processes; so the gradient, too, is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = tensor.clone()
        all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _Total.apply(grad, ctx.group), None


def normalized(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running: tuple[Tensor, Tensor] | None, share: float,
    eps: float, group: Any,
) -> Tensor:  # fmt: skip
    """The input, normalized by channels; `running` statistics take in `share` of those found."""
    channels = input.shape[1]
    shape = [1, channels, *[1] * (input.dim() - 2)]
    others = [dim for dim in range(input.dim()) if dim != 1]
    count = input.new_full((1,), input.numel() // channels)
    total = _Total.apply(functions["cat"]([input.sum(others), count]), group)
    number = total[-1].detach()
    mean = total[:-1] / number
    centred = input - mean.view(shape)
    variance = _Total.apply((centred * centred).sum(others), group) / number
    if running is not None:
        with no_grad():
            running[0].lerp_(mean.to(running[0].dtype), share)
            running[1].lerp_((variance * number / (number - 1)).to(running[1].dtype), share)
    out = centred * (variance + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)
