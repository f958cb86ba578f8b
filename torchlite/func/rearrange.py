"""`rearrange`: dimensions reordered, split and merged, as a pattern of names says."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from ..core.tensor import Tensor, TensorBase
from ..ops.join import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

_REST = "..."
Side = tuple[tuple[str, ...], ...]  # for each dimension the names of what it is made of, the outermost first


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor with its dimensions as the right side of a pattern has them, `"b c (h s) -> b h (c s)"`.

    Names in parentheses share a dimension; all of their sizes but one are to be given. `...` stands for any dimensions,
    `1` for one of size one. A sequence of tensors is stacked first.
    """
    if not isinstance(tensor, TensorBase):
        tensor = stack.apply(tuple(tensor), 0)
    left, right = _sides(pattern)
    names = {name for dim in (*left, *right) for name in dim}
    unknown = set(axes_lengths) - names
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    rest = tensor.dim() - len(left) + 1
    if rest < 0 if (_REST,) in left else rest != 1:
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor "
            f"({tensor.dim()})"
        )
    sizes: dict[str, tuple[int, ...]] = {"1": (1,)}
    at = 0
    for dim in left:
        count = rest if dim == (_REST,) else 1
        sizes |= _sizes(dim, tuple(tensor.shape[at : at + count]), axes_lengths)
        at += count
    before = [name for dim in left for name in dim if name != "1"]
    after = [name for dim in right for name in dim if name != "1"]
    places, at = {}, 0
    for name in before:
        places[name] = range(at, at + len(sizes[name]))
        at += len(sizes[name])
    apart = tensor.reshape([n for name in before for n in sizes[name]])
    moved = apart.permute([i for name in after for i in places[name]])
    merged = [(sizes[dim[0]] if dim == (_REST,) else (math.prod([math.prod(sizes[n]) for n in dim]),)) for dim in right]
    return moved.reshape([n for dim in merged for n in dim])


def _sizes(dim: tuple[str, ...], found: tuple[int, ...], given: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The sizes of the parts that a dimension is made of, of which one may be unknown."""
    if dim == (_REST,):
        return {_REST: found}
    (size,) = found
    known = {name: 1 if name == "1" else given.get(name) for name in dim}
    missing = [name for name, n in known.items() if n is None]
    if len(missing) > 1:
        raise ValueError(f"cannot infer the sizes of two dimensions at once {missing[0]} and {missing[1]}")
    product = math.prod([n for n in known.values() if n is not None])
    if (size % product if missing else size != product) or not product:
        shown = tuple(["?" if n is None else n for n in known.values()])
        raise ValueError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {shown}")
    return {name: (size // product if n is None else n,) for name, n in known.items() if name != "1"}


@functools.lru_cache(256)
def _sides(pattern: str) -> tuple[Side, Side]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = [_side(part) for part in parts]
    names = [{name for dim in side for name in dim} - {"1"} for side in (left, right)]
    if names[0] != names[1]:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {names[0] ^ names[1]}"
        )
    return left, right


def _side(expression: str) -> Side:
    """The dimensions that one side of a pattern names."""
    found: list[tuple[str, ...]] = []
    group: list[str] | None = None
    seen: set[str] = set()
    for word in expression.replace("(", " ( ").replace(")", " ) ").replace("\u2026", _REST).split():
        if word in "()":
            if (word == "(") is (group is not None):
                raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")
            if group is not None:
                found.append(tuple(group))
            group = [] if word == "(" else None
            continue
        if word not in (_REST, "1"):
            if not word.isidentifier():
                raise ValueError(f"Invalid axis identifier: {word}\nnot a valid python identifier")
            if word in seen:
                raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        seen.add(word)
        if group is None:
            found.append((word,))
        else:
            group.append(word)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")
    return tuple(found)
