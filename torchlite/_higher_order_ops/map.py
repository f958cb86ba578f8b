"""A function of each slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import tree_flatten
from .slices import joined, slices

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """What `f(slice, *args)` gives for each slice of `xs` along the first dimension, joined there.

    Example::

        >>> map(lambda x, y: x * y, torch.tensor([1.0, 2.0]), torch.tensor(3.0))
        tensor([3., 6.])
    """
    leaves, spec = tree_flatten(xs)
    if any(leaf.shape[0] == 0 for leaf in leaves):
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(leaf.shape[0] != leaves[0].shape[0] for leaf in leaves):
        shapes = [leaf.shape for leaf in leaves]
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    return joined([f(each, *args) for each in slices(leaves, spec, 0)], 0)
