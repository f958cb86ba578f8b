"""Distances and similarities as modules."""

from __future__ import annotations

from dataclasses import InitVar

from ...core.machine import Tensor
from .. import functional as F
from .fields import fields, made
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


@fields(constants="norm eps keepdim", repr=False)
class PairwiseDistance(Module):
    """The `p`-norms of differences along the last dimension."""

    p: InitVar[float] = 2.0
    norm: float = made()
    eps: float = 1e-6
    keepdim: bool = False

    def complete(self, p: float) -> None:
        self.norm = p

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


@fields(repr=False)
class CosineSimilarity(Module):
    """The cosines of the angles between vectors along `dim`."""

    dim: int = 1
    eps: float = 1e-8

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
