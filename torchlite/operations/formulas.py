"""Formulas written once for arrays and for tensors: they are given a namespace of functions, which both have."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, TensorBase, functions
from ..core.state import is_watched
from ..core.values import preserve_format


class _Tensors:
    """The functions of tensors, as an array namespace has those of arrays."""

    def __getattr__(self, name: str) -> Any:
        return functions[name]


tensors = _Tensors()


def sigmoid(xp: Any, x: Any) -> Any:
    """One over one and the exponential of `-x`."""
    return 1 / (1 + xp.exp(-x))


def onto(fresh: Tensor, name: str, *values: Any) -> Tensor:
    """What an operation writes to a tensor that nobody else has; modes see the form that gives its result.

    So do levels above the tensor's, of which only the other operands are.
    """
    level = fresh._backend.level
    apart = is_watched() or any([isinstance(v, TensorBase) and v._backend.level > level for v in values])
    return getattr(fresh, name if apart else f"{name}_")(*values)


def nought(g: Tensor) -> Any:
    """Zero to choose beside a gradient: a number, of which a mode sees that it is made a tensor at first."""
    return functions["scalar_tensor"](0.0, **options(g)) if is_watched() else 0.0


def over(number: Any, divisor: Tensor) -> Any:
    """A number divided by a tensor, which C++ fills another with."""
    if not is_watched():
        return number / divisor
    return functions["empty_like"](divisor, memory_format=preserve_format).fill_(number).div_(divisor)


def options(like: Tensor) -> dict[str, Any]:
    """What makes a tensor like another, said in full."""
    return {"dtype": like.dtype, "layout": like.layout, "device": like.device}


def zeros(like: Tensor, shape: Any) -> Tensor:
    """Zeros of a tensor's dtype on its device."""
    made: Tensor = functions["zeros"](shape, **options(like)) if is_watched() else like.new_zeros(shape)
    return made


def ones(like: Tensor, shape: Any) -> Tensor:
    """Ones of a tensor's dtype on its device."""
    made: Tensor = functions["ones"](shape, **options(like)) if is_watched() else like.new_ones(shape)
    return made
