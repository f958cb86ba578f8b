"""The families of products, and of what else is exact about the dtype of `out=`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Op
from ...core.machine import Tensor
from ...core.values import Backend


class Exact(Op):
    """Its `out=` is of the result's dtype."""

    exact_out = True


class Product(Exact):
    """A product that the backend of the first factor may have a kernel of its own for."""

    levels = (2, 3)  # those of sparse factors
    factor: int = 0  # which operand is the first factor

    def ready(self, values: Sequence[Any], tensors: list[Tensor]) -> tuple[Backend, Any, list[Any], Any] | None:
        of_factor = values[self.factor]._backend.real.ready.get(self.name)
        return super().ready(values, tensors) if of_factor is None else of_factor(*values)
