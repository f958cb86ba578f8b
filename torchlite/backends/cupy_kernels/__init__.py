"""Kernels for CUDA: ops that are many launches over an array namespace, as few.

`KERNELS` has functions from arrays to arrays by op name. Such a function gives NotImplemented for arguments that it
does not know, of other types or layouts, and leaves them to the op's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from ...kernels.summing import widened
from . import (
    attention,
    channels,
    elementwise,
    embeddings,
    images,
    losses,
    places,
    products,
    recurrent,
    reductions,
    rows,
)
from .formulas import over_lists
from .functions import xp
from .fusing import Fused, follow, instead_of
from .pairs import of_pairs

_TABLES = (
    attention, channels, elementwise, embeddings, images, losses, places, products, recurrent, reductions, rows,
)  # fmt: skip
KERNELS: dict[str, Callable[..., Any]] = {name: kernel for table in _TABLES for name, kernel in table.KERNELS.items()}
# Ops whose kernels take them as they are; those of the second, where there is a kernel for what is asked for.
HALVES, REDUCED = frozenset((*elementwise.KERNELS, *rows.KERNELS)), frozenset(reductions.KERNELS)


def either(own: Callable[..., Any], general: Callable[..., Any], widens: bool = False) -> Callable[..., Any]:
    """`own`, or `general` where that does not know how, which `widens` halves."""

    def kernel(*arguments: Any) -> Any:
        made = own(*arguments)
        if made is not NotImplemented:
            return made
        return general(*[widened(a) if a.__class__ is cupy.ndarray else a for a in arguments] if widens else arguments)

    return kernel


__all__ = ["HALVES", "KERNELS", "REDUCED", "Fused", "either", "follow", "instead_of", "of_pairs", "over_lists", "xp"]
