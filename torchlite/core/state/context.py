"""Contexts that are left whatever happens, and whenever it happens.

An interrupt, or any other exception, may come between any two steps: inside `__enter__`, where no `__exit__` follows,
or as `__exit__` is called, before its first line has run. So

- a context writes what it is about to change into the thread's list of those entered (`State.entered`), and only then
  changes it. To leave is to assign what is written there, and then to strike it out; twice does no harm.
- what a `with` holds of a context is an object of its own (`Held`), of which no frame and no traceback knows. It is
  called at the end of the `with`; if that call comes to nothing, or is never made, it leaves the context as the `with`
  lets go of it.

Where a function is called in another mode, and no context is made for it, `State.within` does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, ClassVar

from ..native import native
from ..structs import know
from .mode import Mode, State, local


class Held(partial):
    """The `__exit__` of a context as a `with` holds it; `below` are the contexts that were entered before."""

    __slots__ = ("below", "state")
    below: Any
    state: State

    def __del__(self) -> None:
        if self.state.entered is not self.below and self.state is local.state:
            _let_go(self.func, self.args[0], self.state, self.below)


class _Leaving:
    """Decorates the `__exit__` of a context: a `with` gets it as a `Held`, those who leave by hand as it is."""

    __slots__ = ("leave",)

    def __init__(self, leave: Callable[..., None]) -> None:
        self.leave = leave

    def __get__(self, context: Any, cls: type) -> Any:
        if context is None:
            return self.leave
        state = local.state
        entry = state.entered
        if entry is None or entry[0] is not context:  # about to be entered
            held = Held(self.leave, context)
            held.state, held.below = state, entry
            return held
        return MethodType(self.leave, context)


leaving: Any = _Leaving if native is None else native.leaving


def _let_go(leave: Callable[..., None], context: Any, state: State, below: Any) -> None:
    """Leave a context as often as it was entered since those below were."""
    while _entry(state, context, below) is not None:
        leave(context)


def _entry(state: State, context: Any, below: Any = None) -> Any:
    """What a context wrote down when it was entered last; None if it is not entered, or not since those below were."""
    entry = state.entered
    while entry is not below and entry is not None:
        if entry[0] is context:
            return entry
        entry = entry[1]
    return None


def _strike(state: State, entry: Any) -> None:
    """Take an entry from the list. Above it stand those that were entered by hand since, and are still to be left."""
    above = []
    at = state.entered
    while at is not entry:
        above.append(at)
        at = at[1]
    rest = entry[1]
    for context, _, *kept in reversed(above):
        rest = context, rest, *kept
    state.entered = rest


class Context:
    """What is in force inside a `with`. It says what is to be kept, what to change then, and how to put that back."""

    __slots__ = ()

    def _take(self, state: State) -> Any:
        """What will be changed, as it is. This changes nothing."""
        raise NotImplementedError

    def _set(self, state: State, kept: Any) -> Any:
        """Change it. What comes back is what `with … as` gives."""
        raise NotImplementedError

    def _put(self, state: State, kept: Any) -> None:
        """Assign what was taken. This may happen twice, and where nothing was changed yet."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        state = local.state
        kept = self._take(state)
        state.entered = self, state.entered, kept
        return self._set(state, kept)

    @leaving
    def __exit__(self, *_: object) -> None:
        state = local.state
        entry = _entry(state, self)
        if entry is not None:
            self._put(state, entry[2])
            _strike(state, entry)


class Switch:
    """A context that sets some `switches` of the thread's mode. Others that are set inside stay so."""

    __slots__ = ()

    switches: ClassVar[tuple[str, ...]]

    def _inside(self, mode: Mode) -> Mode:
        """The mode inside, by that outside."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        state = local.state
        outer = state.mode
        inner = self._inside(outer)
        state.entered = self, state.entered, outer, inner
        state.mode = inner

    @leaving
    def __exit__(self, *_: object) -> None:
        state = local.state
        entry = state.entered
        if entry is None or entry[0] is not self:
            entry = _entry(state, self)
            if entry is None:
                return
        _, others, outer, inner = entry
        state.mode = outer if state.mode is inner else self._left(state.mode, outer)
        if state.entered is entry:
            state.entered = others
        else:
            _strike(state, entry)

    def _left(self, mode: Mode, outer: Mode) -> Mode:
        """A mode with the switches as they are outside."""
        return outer if mode is outer else mode.but(**{name: getattr(outer, name) for name in self.switches})

    def _call(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call inside, as in a `with`."""
        state = local.state
        outer = state.mode
        inner = self._inside(outer)
        try:
            try:
                state.mode = inner
                return call(*args, **kwargs)
            finally:
                state.mode = outer if state.mode is inner else self._left(state.mode, outer)
        finally:  # for an exception at the line above
            state.mode = outer if state.mode is inner else self._left(state.mode, outer)


know(leave_switch=Switch.__exit__, let_go=_let_go)


class SetAtOnce(Switch):
    """A switch that is set as it is made; a `with` then comes back to what was before."""

    __slots__ = ("_outer",)

    def __init__(self) -> None:
        state = local.state
        self._outer = state.mode
        state.mode = self._inside(state.mode)

    def __enter__(self) -> Any:
        state = local.state
        inner = self._inside(state.mode)
        state.entered = self, state.entered, self._outer, inner
        state.mode = inner


class Holding(Context):
    """Inside, attributes of an object have other values."""

    def __init__(self, owner: Any, **values: Any) -> None:
        self.owner = owner
        self.values = values

    def _take(self, state: State) -> dict[str, Any]:
        return {name: getattr(self.owner, name) for name in self.values}

    def _set(self, state: State, kept: Any) -> None:
        self._put(state, self.values)

    def _put(self, state: State, kept: dict[str, Any]) -> None:
        for name, value in kept.items():
            setattr(self.owner, name, value)


class HoldingItems(Context):
    """Inside, a dict has other values under some keys that it has."""

    def __init__(self, owner: dict[Any, Any], values: dict[Any, Any]) -> None:
        self.owner = owner
        self.values = values

    def _take(self, state: State) -> dict[Any, Any]:
        return {key: self.owner[key] for key in self.values}

    def _set(self, state: State, kept: Any) -> None:
        self.owner.update(self.values)

    def _put(self, state: State, kept: dict[Any, Any]) -> None:
        self.owner.update(kept)
