"""One of two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import bear_name
from ..utils._pytree import tree_leaves

__all__ = ["cond"]


def cond(
    pred: bool | int | float | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """What `true_fn` or `false_fn` gives for the operands, as `pred` says."""
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor):
        _check_alternatives(pred, true_fn, false_fn, operands)
    return (true_fn if pred else false_fn)(*operands)


def _check_alternatives(pred: Tensor, true_fn: Any, false_fn: Any, operands: Any) -> None:
    """Refuse what is no choice between two functions of tensors."""
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not (callable(true_fn) and callable(false_fn)):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(leaf, Tensor) for leaf in tree_leaves(operands)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )


bear_name(cond, "torch")
