"""All sums from the first to each, of whatever may be put together in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import wrap_dim
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The slices of `xs` along `dim`, each put together with all before it by an associative `combine_fn`.

    With `reverse`, with all after it. Where `xs` is a container of tensors, `combine_fn` takes and gives such ones.
    It is called for many slices at once (under `vmap`), and about 2 log₂ n times for n of them.

    Example::

        >>> associative_scan(lambda x, y: x * y, torch.tensor([1.0, 2.0, 3.0]), 0, combine_mode="generic")
        tensor([1., 2., 6.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = tree_flatten(xs)
    if combine_mode == "pointwise" and not all(leaf.is_cuda for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    dim = wrap_dim(dim, leaves[0].ndim)
    leaves = [leaf.movedim(dim, 0) for leaf in leaves]
    if reverse:
        leaves = [leaf.flip(0) for leaf in leaves]

    def combine(some: list[Tensor], others: list[Tensor]) -> list[Tensor]:
        return tree_leaves(vmap(combine_fn)(tree_unflatten(some, spec), tree_unflatten(others, spec)))

    leaves = _scanned(combine, leaves)
    if reverse:
        leaves = [leaf.flip(0) for leaf in leaves]
    return tree_unflatten([leaf.movedim(0, dim) for leaf in leaves], spec)


def _scanned(combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], leaves: list[Tensor]) -> list[Tensor]:
    """Those at odd places are what pairs give, scanned; with the next slice they give those at even places."""
    count = len(leaves[0])
    if count < 2:
        return leaves
    odd = _scanned(combine, combine([x[:-1:2] for x in leaves], [x[1::2] for x in leaves]))
    even = [x[:1] for x in leaves]
    if count > 2:
        later = combine([x[: (count - 1) // 2] for x in odd], [x[2::2] for x in leaves])
        even = [functions["cat"]([first, rest]) for first, rest in zip(even, later, strict=True)]
    return [_interleaved(*pair) for pair in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Slices of two tensors by turns."""
    pairs = functions["stack"]([even[: len(odd)], odd], 1).flatten(0, 1)
    return functions["cat"]([pairs, even[len(odd) :]])
