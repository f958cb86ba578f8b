"""The families of products, and of what else is exact about the dtype of `out=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Op
from ...core.state import Mode, State


class Exact(Op):
    """Its `out=` is of the result's dtype."""

    exact_out = True


class Product(Exact):
    """A product that the backend of the first factor may know `at_once`."""

    by_form = True
    factor: int = 0  # which operand is the first factor

    def run_generally(self, state: State, mode: Mode, values: Sequence[Any]) -> Any:
        at_once = values[self.factor].backend.real.at_once.get(self.name) if mode.plain else None
        made = None if at_once is None else at_once(*values)
        if made is None:
            return super().run_generally(state, mode, values)
        if mode.grad:
            self.record(values, (made,))
        return made
