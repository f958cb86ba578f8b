"""Kernels written over an array namespace, as one launch each: CuPy follows what they do, and makes a kernel of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

_MOST = 16  # kernels of one op: integers and words that it takes may differ from call to call



def follow(formula: Callable[..., Any], *operands: Any) -> Any:
    """What a formula of arrays gives, by one launch."""
    found = _FORMULAS.get(formula)
    if found is None:
        found = _FORMULAS[formula] = Fused("formula", formula)
    return found(*operands)


class Fused:
    """A function that treats every element alike: fused for real floating-point arrays, and as it stands for others.

    So is one that does what CuPy can't follow, such as looking at a value.
    """

    def __init__(self, name: str, general: Callable[..., Any]) -> None:
        self.name = f"torchlite_{name.replace('.', '_')}"
        self.general = general
        self.made: dict[tuple[Any, ...], Callable[..., Any]] = {}  # by what is neither an array nor a float

    def __call__(self, *operands: Any) -> Any:
        known: list[Any] = []
        given: list[Any] = []
        for operand in operands:
            is_array = operand.__class__ is cupy.ndarray
            if is_array and operand.dtype.kind != "f":
                return self.general(*operands)
            fed = is_array or operand.__class__ is float
            known.append(Fused if fed else operand)
            if fed:
                given.append(operand)
        key = tuple(known)
        found = self.made.get(key)
        if found is None:
            if len(self.made) == _MOST:
                return self.general(*operands)
            found = self.made[key] = cupy.fuse(kernel_name=self.name)(self._with(key))
        try:
            return found(*given)
        except (TypeError, AttributeError, NotImplementedError, ValueError):
            self.made[key] = self._with(key)
            return self.general(*operands)

    def _with(self, known: tuple[Any, ...]) -> Callable[..., Any]:
        """The kernel as a function of its arrays and floats alone."""

        def call(*given: Any) -> Any:
            left = iter(given)
            return self.general(*[next(left) if k is Fused else k for k in known])

        return call


_FORMULAS: dict[Callable[..., Any], Fused] = {}
