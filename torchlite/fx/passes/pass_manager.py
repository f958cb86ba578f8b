"""Functions that are run one after the other, in an order that is checked."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from .infra.pass_manager import Schedule, this_before_that_pass_constraint

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]  # fmt: skip

Pass = Callable[..., Any]
logger = logging.getLogger(__name__)


def inplace_wrapper(fn: Pass) -> Pass:
    """A function that changes its argument, as one that gives it."""

    @functools.wraps(fn)
    def wrapped(gm: Any, *args: Any, **kwargs: Any) -> Any:
        fn(gm, *args, **kwargs)
        return gm

    return wrapped


def log_hook(fn: Pass, level: int = logging.INFO) -> Pass:
    """A function that tells the log what it gives."""

    @functools.wraps(fn)
    def wrapped(gm: Any, *args: Any, **kwargs: Any) -> Any:
        made = fn(gm, *args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, made)
        return made

    return wrapped


def loop_pass(base_pass: Pass, n_iter: int | None = None, predicate: Callable[[Any], bool] | None = None) -> Pass:
    """A pass that is run so many times, or as long as `predicate` holds."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def looped(source: Any) -> Any:
        for _ in range(n_iter or 0):
            source = base_pass(source)
        while predicate is not None and predicate(source):
            source = base_pass(source)
        return source

    return looped


def these_before_those_pass_constraint(these: Pass, those: Pass) -> Callable[[Pass, Pass], bool]:
    """A constraint for wrapped passes: those that wrap `these` come before those that wrap `those`."""

    def holds(a: Pass, b: Pass) -> bool:
        return not (getattr(a, "__wrapped__", a) is those and getattr(b, "__wrapped__", b) is these)

    return holds


class PassManager(Schedule):
    """Runs passes; constraints say which must come before which."""

    validate = Schedule._validate

    @classmethod
    def build_from_passlist(cls, passes: list[Pass]) -> PassManager:
        """A manager of these passes."""
        return cls(passes)

    def remove_pass(self, _passes: list[str]) -> None:
        """Do without the passes of these names."""
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Pass, _replacement: Pass) -> None:
        """Run another pass in the place of one."""
        self.passes = [_replacement if p.__name__ == _target.__name__ else p for p in self.passes]
        self._validated = False

    def __call__(self, source: Any) -> Any:
        self.validate()
        for fn in self.passes:
            source = fn(source)
        return source
