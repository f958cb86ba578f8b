"""Steps of the elementwise algorithms over lists, in the calls that a dispatch mode sees of `foreach=True`.

A formula written for one tensor runs on `Together` as it is: numbers that depend on the tensors are arrays of objects.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.machine import Tensor, functions
from ..core.values import CPU


class Together:
    """Tensors whose methods are called on all of them at once, by `torch._foreach_*`.

    Results are the formula's own, so that what is made of them is written into them.
    """

    __slots__ = ("own", "tensors")

    def __init__(self, tensors: Sequence[Tensor], own: bool = False) -> None:
        self.tensors, self.own = tensors, own

    def _call(self, name: str, *args: Any, value: Any = None, **options: Any) -> Together:
        in_place = self.own or name.endswith("_")
        given = [_listed(a) for a in (args if value is None else (*args, value))]
        made = of_lists(name.removesuffix("_") + "_" * in_place)(self.tensors, *given, **options)
        return self if in_place else Together(made, own=True)

    def __getattr__(self, name: str) -> Any:
        return functools.partial(self._call, name)

    def __neg__(self) -> Together:
        return self._call("neg")

    def __truediv__(self, other: Any) -> Together:
        return self._call("div", other)

    def __iadd__(self, count: int) -> Together:
        """Go on counting steps."""
        if self.tensors[0].device == CPU:
            return self._call("add_", functions["tensor"](float(count), device=CPU), alpha=1.0)
        return self._call("add_", count)

    def item(self) -> Any:
        """The numbers, to be computed with like one."""
        return np.array([t.item() for t in self.tensors], object)


def count_of(state: dict[str, Any], reads: int) -> Any:
    """The number of steps, which PyTorch reads anew, over lists, for each number that depends on it."""
    step = state["step"]
    for _ in range(reads - 1 if isinstance(step, Together) else 0):
        step.item()
    return step.item()


def raised(highest: Any, other: Any) -> Any:
    """`highest`, where each element is the greater one of two."""
    if isinstance(highest, Together):
        return highest.maximum_(other)
    return functions["maximum"](highest, other, out=highest)


def of_lists(name: str) -> Any:
    importlib.import_module("..operations.torch_names.foreach", __package__)  # where they are declared
    return functions[f"_foreach_{name}"]


def _listed(value: Any) -> Any:
    if isinstance(value, Together):
        return value.tensors
    return value.tolist() if isinstance(value, np.ndarray) else value
