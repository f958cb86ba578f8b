"""`Variable`, as tensors that require grad were once called, and the engine's face to Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.mode import local
from ..core.tensor import Tensor, TensorBase

if TYPE_CHECKING:
    from collections.abc import Callable


class _Engine:
    """What programs reach as `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback` when the backward pass that this is called in is done."""
        task = local.state.task
        if task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        task.callbacks.append(callback)

    def is_checkpoint_valid(self) -> bool:
        task = local.state.task
        return task is None or task.wanted is None


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, TensorBase)


class Variable(metaclass=_VariableMeta):
    """Another name for a tensor: `Variable(x, requires_grad=True)` is `x.detach()` that requires grad."""

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        made = data.detach()
        return made._require_grad(True) if requires_grad else made




class set_multithreading_enabled:
    """Accepted for PyTorch's sake: a backward pass runs in the thread that asks for it, whatever this says."""

    _enabled = True

    def __init__(self, mode: bool) -> None:
        self.outer = set_multithreading_enabled._enabled
        set_multithreading_enabled._enabled = bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        set_multithreading_enabled._enabled = self.outer


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was told."""
    return set_multithreading_enabled._enabled
