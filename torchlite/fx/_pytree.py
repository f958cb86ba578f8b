"""`torch.fx._pytree`: the leaves of arguments, by what was seen of their containers when a program was traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..utils._pytree import TreeSpec


def tree_flatten_spec(pytree: Sequence[Any], spec: TreeSpec) -> list[Any]:
    """The leaves of each of several arguments."""
    return [leaf for part, of_part in zip(pytree, spec.children(), strict=True) for leaf in of_part.flatten_up_to(part)]
