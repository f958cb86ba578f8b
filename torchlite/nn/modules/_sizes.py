"""Sizes given once for all dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def for_each(value: Any, n: int) -> tuple[Any, ...]:
    """`value` for each of `n` dimensions, if it is not several values already."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n
