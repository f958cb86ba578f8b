"""A function of each slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import functions
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten

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
    slices = zip(*(leaf.unbind(0) for leaf in leaves), strict=True)
    results = [f(tree_unflatten(each, spec), *args) for each in slices]
    return tree_map(lambda *parts: functions["stack"](parts), *results)
