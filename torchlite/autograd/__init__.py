"""Automatic differentiation: `backward`, `grad`, and the switches that turn recording on and off."""

from __future__ import annotations

from . import hooks
from .backward import backward, grad
from .modes import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled

__all__ = [
    "backward", "enable_grad", "grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
