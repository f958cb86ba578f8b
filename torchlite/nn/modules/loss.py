"""Losses as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _reduction
from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ...core.tensor import Tensor

__all__ = ["MSELoss"]


class _Loss(Module):
    """What losses have in common: a `reduction`, "mean", "sum" or "none"."""

    __constants__ = ["reduction"]  # noqa: RUF012
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            self.reduction = _reduction.legacy_get_string(size_average, reduce)
        else:
            self.reduction = reduction


class MSELoss(_Loss):
    """The mean of the squared differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)
