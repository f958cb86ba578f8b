"""Distances and similarities."""

from ...core.machine import functions

__all__ = ["bilinear", "cosine_similarity", "pairwise_distance", "pdist"]

bilinear = functions["bilinear"]
cosine_similarity, pairwise_distance, pdist = [
    functions[name] for name in ("cosine_similarity", "pairwise_distance", "pdist")
]
