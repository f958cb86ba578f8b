"""`TorchFunctionMode`: inside, every call is told to an object, and so is what is asked of tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from ..state import Mode, Switch, local
from .asked import let_answer, let_ask
from .tensor import Tensor

_lock = threading.RLock()
_stacks = 0  # how many there are, in all threads


class Stack(tuple[Any, ...]):
    """Function modes that are on. As long as there is one of these, attributes of tensors ask."""

    def __new__(cls, modes: Iterable[Any]) -> Stack:
        global _stacks
        with _lock:
            _stacks += 1
            if _stacks == 1:
                let_ask(Tensor)
        return super().__new__(cls, modes)

    def __del__(self) -> None:
        global _stacks
        with _lock:
            _stacks -= 1
            if not _stacks:
                let_answer(Tensor)


class TorchFunctionMode(Switch):
    """Inside a `with`, every call goes through this object's `__torch_function__`."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    switches = ("functions",)

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(functions=Stack((*mode.functions, self)))

    def __enter__(self) -> TorchFunctionMode:
        super().__enter__()
        return self

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """An instance, to be entered with `with`."""
        return cls(*args, **kwargs)


def push_mode(mode: TorchFunctionMode) -> None:
    state = local.state
    state.mode = state.mode.but(functions=Stack((*state.mode.functions, mode)))


def pop_mode() -> TorchFunctionMode:
    state = local.state
    *rest, innermost = state.mode.functions
    state.mode = state.mode.but(functions=Stack(rest) if rest else ())
    return innermost
