"""Checks of the options that optimizers share."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor


def check_lr(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(message.format(lr))


def check_non_negative(name: str, value: Any) -> None:
    if not value >= 0.0:
        raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas: Any) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_fused(optimizer: Any, fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """What goes with `fused`, and that such a step undoes a gradient scaler's scaling itself."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        optimizer._step_supports_amp_scaling = True
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
