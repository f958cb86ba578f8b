"""Many tensors as one: the helpers of `torch._utils` that gather tensors for a transfer and part them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ..core.machine import Tensor, functions


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """One vector with the elements of all tensors."""
    return functions["cat"]([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The parts of a vector, each in the shape of a tensor."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple([part.view_as(t) for part, t in zip(parts, tensors)])


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Tensors in groups of one dtype, of no more bytes than a limit where there is more than one in a group."""
    groups: defaultdict[str, tuple[list[Tensor], int]] = defaultdict(lambda: ([], 0))
    for t in tensors:
        size = t.numel() * t.element_size()
        group, so_far = groups[t.type()]
        if group and so_far + size > size_limit:
            yield group
            group, so_far = [], 0
        groups[t.type()] = ([*group, t], so_far + size)
    yield from (group for group, _ in groups.values() if group)


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Tensors in the order in which those of their types come among others."""
    by_type: defaultdict[str, list[Tensor]] = defaultdict(list)
    for t in tensors:
        by_type[t.type()].append(t)
    left = {kind: iter(group) for kind, group in by_type.items()}
    return tuple([next(left[t.type()]) for t in ordered_tensors])
