"""`torch._C._autograd`: the engine's own words for hooks on saved tensors, versions and the pass under way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autograd.current_pass import _get_current_graph_task_keep_graph
from ..autograd.profiler import _disable_profiler, _profiler_enabled, kineto_available
from ..autograd.profiler_util import DeviceType
from ..autograd.saved_hooks import pop_hooks as _pop_saved_tensors_default_hooks
from ..autograd.saved_hooks import push_hooks as _push_saved_tensors_default_hooks
from ..core.machine import SavedTensor, Tensor, shared_counter
from ..core.state import local

__all__ = [
    "DeviceType", "SavedTensor", "_disable_profiler", "_get_current_graph_task_keep_graph",
    "_pop_saved_tensors_default_hooks", "_profiler_enabled", "_push_saved_tensors_default_hooks",
    "_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable", "_saved_tensors_hooks_get_disabled_error_message",
    "_saved_tensors_hooks_is_enabled", "_top_saved_tensors_default_hooks", "_unsafe_set_version_counter",
    "kineto_available",
]  # fmt: skip


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool = False) -> tuple[Any, Any] | None:
    """The innermost pair of default hooks."""
    on = local.state.mode.saved_hooks
    return on[-1][:2] if on else None


def _saved_tensors_hooks_enable() -> None:
    local.state.hooks_refused = None


def _saved_tensors_hooks_disable(error_message: str, fail_if_non_empty: bool = True) -> None:
    if fail_if_non_empty and local.state.mode.saved_hooks:
        raise RuntimeError(error_message)
    local.state.hooks_refused = error_message


def _saved_tensors_hooks_is_enabled() -> bool:
    return local.state.hooks_refused is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    return local.state.hooks_refused


def _unsafe_set_version_counter(tensors: Iterable[Tensor], versions: Iterable[int]) -> None:
    """Say how many writes were counted of each tensor."""
    for t, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        shared_counter(t).n = version
