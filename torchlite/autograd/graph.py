"""`torch.autograd.graph`: looking at the graph, and asking to be told when gradients pass."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.machine import Node, RemovableHandle, Tensor, TensorBase, accumulator_of, bump, resolve
from ..core.state import local
from .backward import GradientEdge, get_gradient_edge
from .inert_switches import (
    region_activation_memory_budget,
    set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from .saved_hooks import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "region_activation_memory_budget",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks", "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip

for _function in (
    get_gradient_edge, region_activation_memory_budget, set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
):  # fmt: skip
    _function.__module__ = __name__


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to the memory of a tensor, or of several, that was made behind autograd's back."""
    written = (tensor,) if isinstance(tensor, TensorBase) else tensor
    if not isinstance(written, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in written:
        if not t.is_inference():  # which has none
            bump(t)


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Node:
    """The node that the gradient of `t` goes to."""
    if isinstance(t, GradientEdge):
        return t.node
    edge = resolve(t)
    if edge is None:
        raise AssertionError("Expected gradient function to be set")
    return edge[0] if edge.__class__ is tuple else accumulator_of(edge)


class _MultiHandle(RemovableHandle):
    """The handles of one hook on several tensors."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


_MODES = ("all", "any")


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once in every backward pass that reaches one of `tensors`.

    With "all", when the gradients of all that the pass reaches are there: it gets a list with None for the others.
    With "any", when the first gradient is there, which it gets.
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    for t in tensors:
        _get_grad_fn_or_grad_acc(t)
    gathering = (_All if mode == "all" else _First)(tensors, fn)
    return _MultiHandle(tuple([t.register_hook(gathering.hook(at)) for at, t in enumerate(tensors)]))


class _First:
    """The hook for the first gradient of a pass."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], None]) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        self.told: weakref.WeakSet[Any] = weakref.WeakSet()  # the passes in which `fn` was called

    def hook(self, at: int) -> Callable[[Any], None]:
        def called(grad: Any) -> None:
            task = local.state.task
            with self.lock:
                first = task not in self.told
                self.told.add(task)
            if first:
                self.fn(grad)

        return called


class _All:
    """The hook for all gradients of a pass: it counts those that are to come, and then anew, of each pass under way."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], None]) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        # Weakly, since the nodes hold this.
        edges = [resolve(t) for t in tensors]
        self.targets = [weakref.ref(edge[0] if edge.__class__ is tuple else edge) for edge in edges if edge is not None]
        self.passes: weakref.WeakKeyDictionary[Any, tuple[int, int, list[Any]]] = weakref.WeakKeyDictionary()

    def hook(self, at: int) -> Callable[[Any], None]:
        def called(grad: Any) -> None:
            task = local.state.task
            with self.lock:
                if task not in self.passes:
                    there = [target() for target in self.targets]
                    coming = sum([task.will_run(id(t) if isinstance(t, TensorBase) else t) for t in there])
                    self.passes[task] = (coming, coming, [None] * len(self.targets))
                coming, left, grads = self.passes[task]
                grads[at] = grad
                complete = left == 1
                self.passes[task] = (coming, coming, [None] * len(grads)) if complete else (coming, left - 1, grads)
            if complete:
                self.fn(grads)

        return called
