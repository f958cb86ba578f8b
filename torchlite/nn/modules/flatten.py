"""Modules that join and split dimensions."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor
from .fields import fields
from .module import Module

__all__ = ["Flatten", "Unflatten"]


@fields
class Flatten(Module):
    """Joins the dimensions from `start_dim` to `end_dim`."""

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


@fields
class Unflatten(Module):
    """Splits a dimension into several."""

    dim: int
    unflattened_size: Any

    def complete(self) -> None:
        self._require_tuple_int(self.unflattened_size)

    def _require_tuple_int(self, input: Any) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}")
        for at, size in enumerate(input):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at "
                    f"pos {at}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
