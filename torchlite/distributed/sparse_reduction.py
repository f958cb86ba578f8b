"""Sums of sparse gradients over processes."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, functions
from .collectives import all_gather


def all_reduced_sparse(tensor: Tensor, group: Any) -> Tensor:
    """The sum of the sparse tensors of all processes, each with as many elements as it happens to have."""
    own = tensor.coalesce()
    indices, values = own.indices(), own.values()
    count = indices.new_tensor([indices.shape[1]])
    counts = [count.clone() for _ in range(group.size())]
    all_gather(counts, count, group=group)
    sizes = [each.item() for each in counts]
    places = _gathered(indices.t().contiguous(), sizes, group)
    numbers = _gathered(values, sizes, group)
    return functions["sparse_coo_tensor"](places.t(), numbers, tensor.shape).coalesce()


def _gathered(rows: Tensor, sizes: list[int], group: Any) -> Tensor:
    """The rows of all processes, one after the other; they travel filled up to the same number."""
    padded = rows.new_zeros((max(sizes), *rows.shape[1:]))
    padded[: rows.shape[0]] = rows
    rooms = [padded.clone() for _ in sizes]
    all_gather(rooms, padded, group=group)
    return functions["cat"]([room[:size] for room, size in zip(rooms, sizes)])
