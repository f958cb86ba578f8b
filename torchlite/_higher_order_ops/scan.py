"""A state that goes through slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.values import wrap_dim
from ..utils._pytree import tree_flatten, tree_leaves
from .slices import joined, slices

__all__ = ["scan"]


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """The last state, and all outputs, of `state, output = combine_fn(state, slice)`, which begins with `init`.

    Slices are those of `xs` along `dim`, where the outputs are joined, too; with `reverse` the last comes first. All of
    them may be tensors, or containers of tensors.

    Example::

        >>> scan(lambda total, x: (total + x, total * x), torch.zeros(()), torch.tensor([1.0, 2.0, 3.0]))
        (tensor(6.), tensor([0., 2., 9.]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not tree_leaves(init):
        raise RuntimeError("scan() operator requires init leaves.")
    leaves, spec = tree_flatten(xs)
    if not leaves:
        return init, []
    dim = wrap_dim(dim, leaves[0].ndim)
    if any(leaf.ndim <= dim or leaf.shape[dim] == 0 for leaf in leaves):
        raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    parts = slices(leaves, spec, dim)
    state, outputs = init, []
    for each in reversed(parts) if reverse else parts:
        state, output = combine_fn(state, each)
        outputs.append(output)
    if reverse:
        outputs.reverse()
    return state, joined(outputs, dim)
