"""One of two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import bear_name

__all__ = ["cond"]


def cond(
    pred: bool | int | float | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """What `true_fn` or `false_fn` gives for the operands, as `pred` says."""
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)


bear_name(cond, "torch")
