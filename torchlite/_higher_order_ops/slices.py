"""Containers of tensors cut into slices, and joined of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor, functions
from ..utils._pytree import TreeSpec, tree_map, tree_unflatten


def slices(leaves: Sequence[Tensor], spec: TreeSpec, dim: int) -> list[Any]:
    """The slices of all leaves along a dimension, in containers as they were."""
    return [tree_unflatten(each, spec) for each in zip(*(leaf.unbind(dim) for leaf in leaves), strict=True)]


def joined(results: Sequence[Any], dim: int) -> Any:
    """The container whose tensors have those of the results as their slices."""
    return tree_map(lambda *parts: functions["stack"](parts, dim), *results)
