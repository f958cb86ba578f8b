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
)
from ..core.state import Context, State

if TYPE_CHECKING:
    from ..func.transform import Level


class temporarily_pop_interpreter_stack(Context):
    """Inside, the innermost transform does not run."""

    def _take(self, state: State) -> tuple[Level, ...]:
        return state.levels

    def _set(self, state: State, kept: tuple[Level, ...]) -> None:
        state.levels = kept[:-1]

    def _put(self, state: State, kept: tuple[Level, ...]) -> None:
        state.levels = kept


class temporarily_clear_interpreter_stack(temporarily_pop_interpreter_stack):
    """Inside, no transform runs. What is given are those that do outside, the innermost first."""

    def _set(self, state: State, kept: tuple[Level, ...]) -> list[Level]:  # type: ignore[override]
        state.levels = ()
        return list(reversed(kept))


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


_KINDS = {TransformType.Vmap: VmapInterpreter, TransformType.Grad: GradInterpreter, TransformType.Jvp: JvpInterpreter}


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
