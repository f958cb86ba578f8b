"""What a function made of ops comes to: the ops that it calls, noted as they are called.

Where these follow from the form of a call, later calls of that form run them at once (plan.py).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..state import Mode, Seer, local
from ..values.errors import missed
from .operands import NO_TENSOR, tensors_in
from .plan import Made, places
from .tensor import Tensor
from .tensor_base import TensorBase


def steps_of(f: Callable[..., Any], values: Sequence[Any]) -> Any:
    """The op that a call of `f` on stand-ins comes to and its arguments, or a list of such steps; None for neither."""
    state = local.state
    tensors = [t for value in values for t in tensors_in(value)]
    if any([t._backend.level for t in tensors]):
        return None
    noted = Noted(tensors, state.mode)
    try:
        made = state.within(state.mode.but(kernels=noted), f, *values)
    except Unplannable:
        return None
    if not noted.steps or missed():
        return None
    *before, last = noted.steps
    which = _which(made, noted.held[-1])
    if which is None:
        return None
    alone = not before and places(last[1], tensors) is not None
    return (*last, *which) if alone else [*before, (*last, *which)]


def _which(made: Any, last: Any) -> tuple[int, ...] | None:
    """Which of the last op's results a function gives, where that is one of several; None if it gives another."""
    if last.__class__ is Tensor:
        return () if made is last else None
    if made.__class__ is last.__class__ and all(map(operator.is_, made, last)):
        return ()
    return next(((at,) for at, one in enumerate(last) if one is made), None)


class Unplannable(Exception):
    """A rule does what cannot be told from the ops that it calls."""


class Noted(Seer):
    """Runs the ops of a function, and notes them as steps of a plan."""

    everything = everywhere = True

    def __init__(self, insides: Sequence[Tensor], mode: Mode) -> None:
        self.mode = mode
        self.steps: list[tuple[Any, list[Any]]] = []
        self.held: list[Any] = list(insides)
        self.sources: dict[int, Any] = {id(t): t for t in insides}

    def __call__(self, op: Any, values: Sequence[Any], compute: Callable[[], Any] | None = None) -> Any:
        if op.updates or not op.by_form:
            raise Unplannable
        made = local.state.within(self.mode, op.apply, *values)
        if not isinstance(made, (Tensor, tuple)) or id(made) in self.sources:
            raise Unplannable
        self.steps.append((op, [self.source(v) for v in values]))
        self.sources[id(made)] = Made(len(self.steps) - 1)  # of several results no later step may be made
        self.held.append(made)
        return made

    def parts(self, op: Any, values: Sequence[Any]) -> Callable[[], Tensor]:
        return lambda: self(op, values)

    def source(self, value: Any) -> Any:
        """An argument of a step: a tensor from outside, what an earlier step made, or anything but a tensor."""
        if value.__class__ in NO_TENSOR:
            return value
        if isinstance(value, TensorBase):
            if id(value) not in self.sources:
                raise Unplannable
            return self.sources[id(value)]
        if isinstance(value, (tuple, list)) and any([isinstance(item, TensorBase) for item in value]):
            return tuple([self.source(item) for item in value])
        return value

    def refuse(self, *_: Any) -> Any:
        raise Unplannable

    together = write = out = factory = lifted = number_of = past_forms = refuse  # type: ignore[assignment]
