"""Losses."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ...core.op import functions
from ...core.overrides import overridable
from ...ops.loss import mse_loss as _mse_loss
from .. import _reduction

if TYPE_CHECKING:
    from ...core.tensor import Tensor

__all__ = ["mse_loss"]

_broadcast_tensors = functions["broadcast_tensors"]


@overridable
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean ("mean"), sum ("sum") or all ("none") of the squared differences, each times its `weight`."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
    if size_average is not None or reduce is not None:
        reduction = _reduction.legacy_get_string(size_average, reduce)
    expanded, wanted = _broadcast_tensors(input, target)
    if weight is None:
        return _mse_loss(expanded, wanted, _reduction.get_enum(reduction))
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = (expanded - wanted) ** 2 * weight
    if reduction == "none":
        return weighted
    return weighted.sum() if reduction == "sum" else weighted.sum() / weight.sum()
