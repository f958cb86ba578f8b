"""The order in which gradients of leaves accumulate that are ready at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor


def queued(leaves: Sequence[Tensor], before: int, after: int) -> Sequence[Tensor]:
    """Leaves that are ready at once, in the order in which PyTorch's heap gives them back.

    So many nodes, which come after all leaves, were put there before them, and after them.
    """
    if len(leaves) < 2:
        return leaves
    heap: list[Any] = [None] * before

    def rise(entry: Any, at: int) -> None:
        while at and entry is not None and heap[(at - 1) // 2] is None:
            heap[at], at = heap[(at - 1) // 2], (at - 1) // 2
        heap[at] = entry

    made: list[Any] = []
    for leaf in leaves:
        heap.append(leaf)
        rise(leaf, len(heap) - 1)
    heap += [None] * after
    while len(made) < len(leaves):
        made.append(heap[0])
        last = heap.pop()
        at, to = 0, 2
        while to <= len(heap):
            to -= to == len(heap) or (heap[to] is None and heap[to - 1] is not None)
            heap[at] = heap[to]
            at, to = to, 2 * to + 2
        if heap:
            rise(last, at)
    return made
