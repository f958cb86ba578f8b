"""What is switched on in this thread: gradients, inference, function modes, hooks.

A thread holds one immutable `Mode`. Entering a context swaps the object, so the hot path asks one question
(`mode.plain`: is any of the rare ones on?) instead of one per feature.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..native import native
from ..structs import ModeParts, StateParts, know
from .seer import Seer

_DERIVED = frozenset(("beneath", "direct", "marks", "moving", "plain", "records", "seer", "toggled", "transforming"))


class Mode(ModeParts):
    """One combination of switches."""

    __slots__ = (
        "anomaly", "autocast", "forward", "functions", "handling", "inference", "kernels", "levels", "marks", "moving",
        "profiler", "records", "saved_hooks", "seer", "subclasses", "toggled", "transforming", "transforms",
    )  # fmt: skip

    def __init__(
        self, grad: bool = True, inference: bool = False, functions: tuple[Any, ...] = (), subclasses: bool = True,
        saved_hooks: tuple[Any, ...] = (), anomaly: Any = None, levels: tuple[Any, ...] = (), forward: bool = True,
        kernels: Seer | None = None, profiler: Any = None, transforms: bool = False, autocast: Any = None,
        handling: bool | None = None,
    ) -> None:  # fmt: skip
        self.grad = grad  # operations are recorded
        self.inference = inference
        self.functions = functions  # the stack of TorchFunctionModes, innermost last
        self.subclasses = subclasses  # whether __torch_function__ of operands is asked
        self.saved_hooks = saved_hooks
        self.anomaly = anomaly  # what watches backward (autograd/anomaly_mode.py), or None
        self.levels = levels  # the open levels of forward differentiation, innermost last
        self.forward = forward  # whether these are switched on
        self.moving = levels if forward and not inference else ()
        self.kernels = kernels  # what is asked to run the kernels: `kernels(op, values, compute)`
        self.seer = kernels if kernels is not None and kernels.everything else None  # views and writes are its, too
        self.profiler = profiler  # what writes down calls and nodes (autograd/profiler.py), or None
        self.autocast = autocast  # what casts the operands of ops (amp/autocast_mode.py), or None
        self.handling = handling  # in a handler of operations: whether there was to be a history of what it stands for
        self.transforms = transforms  # whether transforms of functions run, which may take tensors over
        self.marks = inference or transforms  # new tensors are told apart from those made elsewhere
        self.records = grad or bool(self.moving)  # results get a history, or tangents
        rare = (inference, functions, saved_hooks, anomaly, levels, kernels, profiler, autocast)
        usual = not any(rare) and subclasses and forward and handling is None
        self.plain = usual and not transforms
        # The plain mode in which transforms run what they make of tensors of a device.
        self.beneath: Mode | None = (GRAD if grad else NO_GRAD) if usual and transforms else None
        # Nobody is told of calls on plain tensors.
        self.direct = not functions and profiler is None and autocast is None
        # Once they were asked for: the same with gradients off (or on), and while a transform runs.
        self.toggled: Mode | None = None
        self.transforming: Mode | None = None

    def but(self, **changes: Any) -> Mode:
        """This mode with some switches set otherwise."""
        return Mode(**({name: getattr(self, name) for name in _SWITCHES} | changes))


_SWITCHES = tuple([name for name in (*ModeParts.__slots__, *Mode.__slots__) if name not in _DERIVED])


GRAD = Mode(grad=True)
NO_GRAD = Mode(grad=False)
know(mode_without_grad=NO_GRAD)


def with_grad(mode: Mode, enabled: bool) -> Mode:
    if mode.plain:
        return GRAD if enabled else NO_GRAD
    if mode.handling is not None and not enabled:
        return mode.but(grad=False, handling=False)
    if mode.grad is enabled or mode.inference:  # in which nothing is recorded
        return mode
    toggled = mode.toggled
    if toggled is None:
        toggled = mode.toggled = mode.but(grad=enabled)
    return toggled


def while_transforming(mode: Mode) -> Mode:
    """The mode in which a transform of functions runs what it is given."""
    if mode.transforms:
        return mode
    found = mode.transforming
    if found is None:
        found = mode.transforming = mode.but(transforms=True)
    return found


def look_past_forms() -> None:
    """Tell who notes what a call comes to that this depends on more than the forms of its operands."""
    seer = local.state.mode.seer
    if seer is not None:
        seer.past_forms()


def is_watched() -> bool:
    """Whether a program's dispatch mode sees operations."""
    seer = local.state.mode.seer
    return seer is not None and not seer.everywhere


def silent(mode: Mode) -> Mode:
    """The mode in which results get neither a history nor tangents."""
    return mode.but(grad=False, levels=()) if mode.levels else with_grad(mode, False)


def handling(mode: Mode, kernels: Any) -> Mode:
    """The mode in which a handler stands for an operation, which has the history; `kernels` are asked beneath it."""
    return mode.but(grad=False, levels=(), kernels=kernels, handling=mode.grad or bool(mode.handling))


def left(outer: Mode, inner: Mode) -> Mode:
    """The mode after a context that began in `outer`: levels opened or closed meanwhile stay so."""
    return outer if outer.levels is inner.levels else outer.but(levels=inner.levels)


class State(StateParts):
    """What a thread holds: its mode, its default device, the backward pass and the transforms it is in, and `quiet`.

    `quiet` calls a kernel without NumPy's warnings.

    NumPy keeps its floating-point error handling in a context variable. `quiet` runs a kernel inside a `Context` of
    the thread's own in which every signal is ignored; it costs nothing next to the kernel, and the user's own
    `numpy.errstate` is neither read nor changed.
    """

    __slots__ = ("hooks_refused", "leaves_allowed", "multithreading")

    def __init__(self) -> None:
        self.mode = GRAD
        self.default_device: Any = None
        self.hooks_refused: str | None = None  # why hooks for saved tensors may not be turned on
        self.task: Any = None
        self.multithreading = True  # what autograd was told, which makes no difference to it
        self.levels: tuple[Any, ...] = ()  # the transforms of functions that run, innermost last: func/transform.py
        self.adopted = 0  # how many tensors they have taken over
        self.entered: Any = None  # the contexts, innermost first: (context, others, what it keeps…)
        self.leaves_allowed = False  # whether `requires_grad_` may be called while they run
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.quiet = context.run

    def __copy__(self) -> State:
        made = State.__new__(State)
        for name in (*StateParts.__slots__, *State.__slots__):
            setattr(made, name, getattr(self, name))
        return made

    def within(self, mode: Mode, call: Callable[..., Any], *args: Any) -> Any:
        """Make a call in a mode. An exception may come at any line, that of a `finally` too: so there are two."""
        outer = self.mode
        try:
            try:
                self.mode = mode
                return call(*args)
            finally:
                self.mode = outer
        finally:
            self.mode = outer

    def among(self, levels: tuple[Any, ...], call: Callable[..., Any], *args: Any) -> Any:
        """Make a call as if these transforms were all that run."""
        outer = self.levels
        try:
            try:
                self.levels = levels
                return call(*args)
            finally:
                self.levels = outer
        finally:
            self.levels = outer


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = State()


know(State=State)
local = _Local() if native is None else native.Local()
