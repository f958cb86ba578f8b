"""`torch._functorch.pyfunctorch`: the transforms that run, as objects."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .._C._functorch import (
    CGradInterpreterPtr,
    CInterpreter,
    CJvpInterpreterPtr,
    CVmapInterpreterPtr,
    TransformType,
    get_interpreter_stack,
    peek_interpreter_stack,
    pop_dynamic_layer_stack,
    push_dynamic_layer_stack,
)
from ..core.mode import local

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def temporarily_pop_interpreter_stack() -> Iterator[None]:
    """Inside, the innermost transform does not run."""
    popped = pop_dynamic_layer_stack()
    try:
        yield
    finally:
        push_dynamic_layer_stack(popped)


@contextlib.contextmanager
def temporarily_clear_interpreter_stack() -> Iterator[list[Any]]:
    """Inside, no transform runs. What is given are those that do outside, the innermost first."""
    state = local.state
    outer, state.levels = state.levels, ()
    try:
        yield list(reversed(outer))
    finally:
        state.levels = outer


class FuncTorchInterpreter:
    """A running transform."""

    def __init__(self, cptr: Any) -> None:
        self._cptr = cptr

    def key(self) -> TransformType:
        return self._cptr.key()

    def level(self) -> int:
        return self._cptr.level()

    def lower(self) -> contextlib.AbstractContextManager[None]:
        """A context in which those around it are all that run."""
        return temporarily_pop_interpreter_stack()

    def get_state(self) -> tuple[Any, ...]:
        return self.key().name, self.level()

    def check_state(self, state: tuple[Any, ...]) -> bool:
        return state == self.get_state()


class VmapInterpreter(FuncTorchInterpreter):
    def __init__(self, cdata: CInterpreter) -> None:
        super().__init__(CVmapInterpreterPtr(cdata))

    def batch_size(self) -> int:
        return self._cptr.batchSize()

    def randomness(self) -> str:
        """What it was told of random numbers."""
        return self._cptr.randomness().name.lower()

    def get_state(self) -> tuple[Any, ...]:
        return *super().get_state(), self.randomness()


class GradInterpreter(FuncTorchInterpreter):
    def __init__(self, cdata: CInterpreter) -> None:
        super().__init__(CGradInterpreterPtr(cdata))

    def prev_grad_mode(self) -> bool:
        return self._cptr.prevGradMode()

    def get_state(self) -> tuple[Any, ...]:
        return *super().get_state(), self.prev_grad_mode()


class JvpInterpreter(FuncTorchInterpreter):
    def __init__(self, cdata: CInterpreter) -> None:
        super().__init__(CJvpInterpreterPtr(cdata))

    def prev_fwd_grad_mode(self) -> bool:
        return self._cptr.prevFwdGradMode()

    def get_state(self) -> tuple[Any, ...]:
        return *super().get_state(), self.prev_fwd_grad_mode()


_KINDS = {
    TransformType.Vmap: VmapInterpreter, TransformType.Grad: GradInterpreter, TransformType.Jvp: JvpInterpreter
}  # fmt: skip


def coerce_cinterpreter(cinterpreter: CInterpreter) -> FuncTorchInterpreter:
    return _KINDS[cinterpreter.key()](cinterpreter)


def retrieve_current_functorch_interpreter() -> FuncTorchInterpreter:
    """The innermost of the running transforms."""
    interpreter = peek_interpreter_stack()
    assert interpreter is not None, "interpreter must not be None"
    return coerce_cinterpreter(interpreter)


def retrieve_all_functorch_interpreters() -> list[FuncTorchInterpreter]:
    """The running transforms, the outermost first."""
    return [coerce_cinterpreter(i) for i in get_interpreter_stack() or ()]


def compare_functorch_state(states: list[tuple[Any, ...]]) -> bool:
    """Whether just the transforms run that these states were taken of."""
    return [i.get_state() for i in retrieve_all_functorch_interpreters()] == list(states)
