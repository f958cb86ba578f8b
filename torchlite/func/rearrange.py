"""`rearrange`: dimensions reordered, split and merged, as a pattern of names says."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.machine import Tensor, TensorBase
from ..operations.shapes.joining import stack
from .patterns import REST, parse_pattern, validate_rearrange_expressions


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its dimensions as the right side of a pattern has them, `"b c (h s) -> b h (c s)"`.

    Names in parentheses share a dimension; all of their sizes but one are to be given. `...` stands for any dimensions,
    `1` for one of size one. A sequence of tensors is stacked first.
    """
    x: Tensor = tensor if isinstance(tensor, TensorBase) else stack.apply(tuple(tensor), 0)
    parsed = parse_pattern(pattern, axes_lengths)
    validate_rearrange_expressions(*parsed, axes_lengths)
    left, right = [[[dim] if dim == REST else dim for dim in side.composition] for side in parsed]
    rest = x.dim() - len(left) + 1
    if rest < 0 if [REST] in left else rest != 1:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor "
            f"({x.dim()})"
        )
    sizes: dict[object, tuple[int, ...]] = {}
    at = 0
    for dim in left:
        count = rest if dim == [REST] else 1
        sizes |= _sizes(dim, tuple(x.shape[at : at + count]), axes_lengths)  # type: ignore[arg-type]
        at += count
    before = [name for dim in left for name in dim]
    after = [name for dim in right for name in dim]
    places, at = {}, 0
    for name in before:
        places[name] = range(at, at + len(sizes[name]))
        at += len(sizes[name])
    apart = x.reshape([n for name in before for n in sizes[name]])
    moved = apart.permute([i for name in after for i in places[name]])
    shape: list[int] = []
    for dim, written in zip(right, parsed[1].composition, strict=True):
        parts = [n for name in dim for n in sizes[name]]
        shape += parts if written == REST else [math.prod(parts)]
    return moved.reshape(shape)


def _sizes(dim: list[str], found: tuple[int, ...], given: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The sizes of the parts that a dimension is made of, of which one may be unknown."""
    if dim == [REST]:
        return {REST: found}
    (size,) = found
    known = {name: given.get(name) for name in dim}
    missing = [name for name, n in known.items() if n is None]
    if len(missing) > 1:
        raise ValueError(f"cannot infer the sizes of two dimensions at once {missing[0]} and {missing[1]}")
    product = math.prod([n for n in known.values() if n is not None])
    if not product or (size % product if missing else size != product):
        shown = tuple(["?" if n is None else n for n in known.values()]) or (1,)
        raise ValueError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {shown}")
    return {name: (size // product if n is None else n,) for name, n in known.items()}
