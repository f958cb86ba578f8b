"""What is switched on in this thread: gradients, inference, function modes, hooks.

A thread holds one immutable `Mode`. Entering a context swaps the object, so the hot path asks one question
(`mode.plain`: is any of the rare ones on?) instead of one per feature.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import numpy as np


class Mode:
    """One combination of switches."""

    __slots__ = ("anomaly", "functions", "grad", "inference", "plain", "saved_hooks", "subclasses")

    def __init__(
        self,
        grad: bool = True,
        inference: bool = False,
        functions: tuple[Any, ...] = (),
        subclasses: bool = True,
        saved_hooks: tuple[Any, ...] = (),
        anomaly: tuple[bool, bool] | None = None,
    ) -> None:
        self.grad = grad  # operations are recorded
        self.inference = inference
        self.functions = functions  # the stack of TorchFunctionModes, innermost last
        self.subclasses = subclasses  # whether __torch_function__ of operands is asked
        self.saved_hooks = saved_hooks
        self.anomaly = anomaly  # (on, check for NaN)
        self.plain = not (inference or functions or saved_hooks or anomaly) and subclasses

    def but(self, **changes: Any) -> Mode:
        """This mode with some switches set otherwise."""
        values = {name: getattr(self, name) for name in Mode.__slots__ if name != "plain"}
        return Mode(**(values | changes))


GRAD = Mode(grad=True)
NO_GRAD = Mode(grad=False)


def with_grad(mode: Mode, enabled: bool) -> Mode:
    if mode.plain:
        return GRAD if enabled else NO_GRAD
    return mode if mode.grad is enabled else mode.but(grad=enabled)


class State:
    """What a thread holds: its mode, its default device, and `quiet`, which calls a kernel without NumPy's warnings.

    NumPy keeps its floating-point error handling in a context variable. `quiet` runs a kernel inside a `Context` of
    the thread's own in which every signal is ignored; it costs nothing next to the kernel, and the user's own
    `numpy.errstate` is neither read nor changed.
    """

    __slots__ = ("default_device", "mode", "quiet")

    def __init__(self) -> None:
        self.mode = GRAD
        self.default_device: Any = None
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.quiet = context.run


class _Local(threading.local):
    def __init__(self) -> None:
        self.state = State()


local = _Local()
