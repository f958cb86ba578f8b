"""Formulas written once for arrays and for tensors: they are given a namespace of functions, which both have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..core.machine import functions


class _Tensors:
    """The functions of tensors, as an array namespace has those of arrays."""

    def __getattr__(self, name: str) -> Any:
        return functions[name]


tensors = _Tensors()


class Formula:
    """A derivative whose parameters are not named where it is written."""

    def __init__(self, fn: Callable[..., Any], names: str) -> None:
        self.fn = fn
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names.split()])

    def __call__(self, *values: Any) -> Any:
        return self.fn(*values)
