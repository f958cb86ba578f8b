"""Functions that also take the symbolic numbers of PyTorch's compiler, of which there are none: numbers are plain."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from .absent import placeholder
from .core.machine import Tensor

__all__ = [
    "cond", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
    "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip


SymBool, SymFloat, SymInt = (placeholder("torch", name) for name in ("SymBool", "SymFloat", "SymInt"))


def sym_int(a: float) -> int:
    """A number without its fraction."""
    return math.trunc(a)


def sym_float(a: float) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: bool) -> bool:
    """The logical not of a value."""
    return not a


def sym_max(a: float, b: float) -> float:
    """The greater of two numbers; of a float and an int, a float."""
    return float(builtins.max(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.max(a, b)


def sym_min(a: float, b: float) -> float:
    """The smaller of two numbers; of a float and an int, a float."""
    return float(builtins.min(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.min(a, b)


def sym_sqrt(a: float) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values, by a condition."""
    return t if b else f


def sym_sum(*args: Any) -> int:
    """The sum of numbers."""
    numbers = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return sum(numbers)


def sym_fresh_size(size: int) -> int:
    """A size that an exported program does not know yet: there are no such programs here."""
    return size


def sym_constrain_range(size: int, *, min: int | None = None, max: int | None = None) -> None:
    """Refuse a number that lies outside of a range."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


sym_constrain_range_for_size = sym_constrain_range


def cond(
    pred: bool | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    """What `true_fn` or `false_fn` gives for the operands, as `pred` says."""
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)
