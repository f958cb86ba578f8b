"""Kernels for CUDA: ops that are many launches over an array namespace, as few.

`KERNELS` has functions from arrays to arrays by op name. Such a function gives NotImplemented for arguments that it
does not know, of other types or layouts, and leaves them to the op's own kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import attention, channels, elementwise, embeddings, images, losses, places, products, recurrent, rows, sums
from .formulas import over_lists
from .functions import xp
from .fusing import Fused, follow, instead_of

KERNELS: dict[str, Callable[..., Any]] = {
    name: kernel
    for table in (elementwise, rows, channels, losses, embeddings, images, attention, recurrent, places, products, sums)
    for name, kernel in table.KERNELS.items()
}
HALVES = frozenset((*elementwise.KERNELS, *rows.KERNELS, *sums.KERNELS))  # ops whose kernels take them as they are


def either(own: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`own`, or `general` where that does not know how."""

    def kernel(*arguments: Any) -> Any:
        made = own(*arguments)
        return general(*arguments) if made is NotImplemented else made

    return kernel


__all__ = ["HALVES", "KERNELS", "Fused", "either", "follow", "instead_of", "over_lists", "xp"]
