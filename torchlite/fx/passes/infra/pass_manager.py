"""Passes that are run one after the other, in an order that meets constraints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ....nn.modules.module import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """A function that changes a module in place, as a pass that says that it changed it."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: Any) -> PassResult | None:
        made = fn(gm)
        return made if isinstance(made, PassResult) else PassResult(gm if made is None else made, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Pass]) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :], i + 1):
            if not constraint(a, b):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at "
                    f"index{j} in pass list."
                )


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in the order that the constraints ask for, and in their own where they ask for none."""
    left, found = list(passes), []
    while left:
        first = next((p for p in left if all(c(p, q) for q in left if q is not p for c in constraints)), None)
        if first is None:
            raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
        left.remove(first)
        found.append(first)
    return found


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """A constraint: `this` comes before `that`."""
    return lambda a, b: not (a == that and b == this)


class Schedule:
    """Passes, and constraints that say which must come before which."""

    def __init__(self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Run one more pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Keep to one more constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def _validate(self) -> None:
        """Raise an error where the passes stand in an order that a constraint forbids."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True


class PassManager(Schedule):
    """Runs passes, `steps` times; checks may follow each of them."""

    def __init__(
        self, passes: list[Pass] | None = None, constraints: list[Constraint] | None = None, steps: int | None = None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(passes, constraints)
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    validate_constraints = Schedule._validate

    def solve_constraints(self) -> None:
        """Put the passes in an order that all constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Check modules by a function of them, which raises an error where something is wrong."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """What is checked after passes: nothing, before `add_checks`."""

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for at, fn in enumerate(self.passes):
                made = self._run(fn, self.passes[:at], module)
                module, changed = made.graph_module, changed or made.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)

    def _run(self, fn: Pass, before: list[Pass], module: Module) -> PassResult:
        def name(f: Pass) -> str:
            return f.__name__ if inspect.isfunction(f) else type(f).__name__

        try:
            made = fn(module)
            if not isinstance(made, PassResult):
                raise TypeError(
                    f"The result of the pass {name(fn)} should be type PassResult."
                    "Please wrap it with pass_result_wrapper()"
                )
            return made
        except Exception as error:
            raise Exception(
                f"An error occurred when running the '{name(fn)}' pass after the following passes: "
                f"{[name(f) for f in before]}"
            ) from error
