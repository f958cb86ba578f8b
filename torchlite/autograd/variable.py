"""`Variable`, as tensors that require grad were once called, and the engine's face to Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import NoneType
from typing import Any

from ..core.machine import Tensor, TensorBase
from ..core.state import local
from ..core.values import warn


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


class _LegacyVariableBase:
    """What `Variable` is a class of."""


class Variable(_LegacyVariableBase, metaclass=_VariableMeta):
    """Another name for a tensor: `Variable(x, requires_grad=True)` is `x.detach()` that requires grad."""

    _execution_engine = _Engine()

    def __new__(  # type: ignore[misc]
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if not isinstance(data, (TensorBase, NoneType)):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if operator.index(requires_grad) not in range(256):
            beyond = "greater than maximum" if requires_grad > 0 else "less than minimum"
            raise OverflowError(f"unsigned byte integer is {beyond}")
        made = Tensor() if data is None else data.detach()
        return made._require_grad(True) if requires_grad else made
