"""Modules for sequences, images and volumes, and sizes given once for all of their dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from .module import Module


class Spatial(Module):
    """The base of modules of which there is one for each number of dimensions: `class Conv2d(_Conv, dims=2)`."""

    dims: ClassVar[int]

    def __init_subclass__(cls, dims: int | None = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        if dims is not None:
            cls.dims = dims


def for_each(value: Any, n: int) -> tuple[Any, ...]:
    """`value` for each of `n` dimensions, if it is not several values already."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n
