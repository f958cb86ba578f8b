"""Switches of PyTorch's engine and compiler, which are accepted and make no difference here."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager

from ..core.declare import Signature
from ..core.values import shown_in, type_name

_LAYOUT = Signature("set_grad_layout_enforcement_enabled(bool enabled)")


@shown_in("torch.autograd.grad_mode")
class enforce_grad_layout_policy:
    """Whether gradients must lie in memory as their parameters do: they always do here.

    From now on, or inside a `with`.
    """

    def __init__(self, enable: bool = True) -> None:
        _LAYOUT.bind((enable,), {})

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def region_activation_memory_budget(budget: float) -> AbstractContextManager[None]:
    """How much of what a compiled region keeps for backward it may keep; nothing is compiled here."""
    name = "torch.autograd.graph.region_activation_memory_budget"
    if type(budget) not in (int, float):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    return contextlib.nullcontext()


def _check_enabled(enabled: bool) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type_name(enabled)}")


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn of gradients that come from another stream, which is not looked at here."""
    _check_enabled(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Whether to mend streams of CUDA graphs, of which there are none here."""
    _check_enabled(enabled)
