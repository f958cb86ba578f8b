"""Automatic differentiation: `backward`, `grad`, and the switches that turn recording on and off."""

from __future__ import annotations

from typing import Any, NoReturn

from ..absent import loading
from ..core.values.pickling import live_here
from . import grad_mode, tensor_hooks
from .backward import backward, grad
from .grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck  # now, since the module would hide the function of its name
from .variable import Variable  # for the same reason

__all__ = [
    "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "grad", "grad_mode", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "variable",
]  # fmt: skip

live_here(globals(), "backward", "grad")


def variable(*_: Any, **__: Any) -> NoReturn:
    """Raises an error: `torch.tensor` makes tensors."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


# Loaded when first used: modules, and names with the module that has them.
_MODULES = frozenset((
    "anomaly_mode", "forward_ad", "function", "functional", "graph", "profiler", "profiler_legacy", "profiler_util",
))  # fmt: skip
_HOME = {
    "DeviceType": "profiler_util",
    "Function": "function",
    "NestedIOFunction": "function",
    "SavedTensor": "saved_hooks",
    "_disable_profiler": "profiler",
    "_is_checkpoint_valid": "current_pass",
    "_profiler_enabled": "profiler",
    "detect_anomaly": "anomaly_mode",
    "kineto_available": "profiler",
    "enforce_grad_layout_policy": "inert_switches",
    "set_detect_anomaly": "anomaly_mode",
}
__getattr__, __dir__ = loading(__name__, _MODULES, _HOME)
