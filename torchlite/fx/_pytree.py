"""`torch.fx._pytree`: the leaves of arguments, by what was seen of their containers when a program was traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..utils._pytree import TreeSpec

# How containers of some classes are taken apart; of all others, as `torch.utils._pytree` does it.
SUPPORTED_NODES: dict[type[Any], Callable[[Any, TreeSpec], list[Any]]] = {}


def register_pytree_flatten_spec(
    cls: type[Any], flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, TreeSpec], bool] | None = None,
) -> None:  # fmt: skip
    """Say how containers of a class are taken apart."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Sequence[Any], spec: TreeSpec) -> list[Any]:
    """The leaves of each of several arguments."""
    return [leaf for part, seen in zip(pytree, spec.children(), strict=True) for leaf in _leaves(part, seen)]


def _leaves(part: Any, seen: TreeSpec) -> list[Any]:
    take_apart = SUPPORTED_NODES.get(seen.type)
    return seen.flatten_up_to(part) if take_apart is None else tree_flatten_spec(take_apart(part, seen), seen)
