"""The node of a declared op, and how it shows what it saved.

Attributes of a node are named as PyTorch names them. `_saved_self` is a tensor that was kept, `_raw_saved_self` the
place where hooks can be registered on it, `_saved_dim` an argument and `_saved_self_sym_sizes` the shape of an operand.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..machine import Hooked, Node, name_of, raw, read, shown
from ..values import freed
from ..values.cached import cached

if TYPE_CHECKING:
    from .op import Op


class OpNode(Node):
    """The node of a declared op. A subclass per op names it and points to its declaration.

    `saved` runs along `op.saved_names`, see saved.py. `values` are the op's bound arguments with tensors left out.
    """

    __slots__ = ()

    operand_forms: Any  # shape and dtype of each operand, where gradients are fitted to them

    op: Op
    title: str
    fails: ClassVar[bool] = False  # it only raises an error
    numbers: ClassVar[frozenset[str]] = frozenset()  # operands that are numbers, where PyTorch has an op for that

    @classmethod
    def named(cls, title: str, **more: Any) -> type[OpNode]:
        """The same nodes under another title."""
        named = {"__slots__": (), "title": title, "__module__": "builtins"}
        return type(title.rpartition("::")[2], (cls,), named | more)

    def name(self) -> str:
        return self.title

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one's gradients go to."""
        found = super().next_functions
        if self.fails:  # what has no derivative leads to what requires grad alone
            return tuple([one for one in found if one[0] is not None])
        return tuple([one for at, one in enumerate(found) if at not in self.unshown]) if self.unshown else found

    def read(self, entry: Any) -> Any:
        return read(entry, self)

    def __getattr__(self, name: str) -> Any:
        found = _attributes(type(self)).get(name)
        if found is None:
            raise AttributeError(f"'{name_of(self)}' object has no attribute '{name}'")
        return found(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_attributes(type(self))]


def unpacked(node: OpNode) -> tuple[Any, ...]:
    """The values that a node saved, packed tensors unpacked; an error when it was freed."""
    saved = node.saved_entries
    if saved is None:
        raise freed()
    return saved.unpacked(node) if saved.__class__ is Hooked else saved


@cached
def _attributes(node_class: type[OpNode]) -> dict[str, Callable[[OpNode], Any]]:
    """How the `_saved_*` and `_raw_saved_*` attributes of a class of nodes are read."""
    op = node_class.op
    found: dict[str, Callable[[OpNode], Any]] = {}
    for at, name in enumerate(op.saved_names):
        number = name in node_class.numbers
        found[f"_saved_{name}"] = functools.partial(_kept, at=at, number=number)
        if not number and name not in op.shown_names:
            found[f"_raw_saved_{name}"] = functools.partial(_raw, at=at)
    return found | {f"_saved_{name}": _value(op, name) for name in op.shown_names}


def _value(op: Op, name: str) -> Callable[[OpNode], Any]:
    """How a plain value is read: one that was noted, or the shape (or a part of it) of an operand."""
    noted = op.value_names
    if name in noted:
        at = noted.index(name)
        if op.signature.params[op.signature.by_name[name]].type == "Scalar":
            return lambda node: node.plain_values[at]
        return lambda node: _unsigned(node.plain_values[at])
    dimension = _DIMENSION.fullmatch(name)
    if dimension is not None:
        operand, number = dimension[1], int(dimension[3]) * (-1 if dimension[2] else 1)
        if f"{operand}_shape" in noted:
            at = noted.index(f"{operand}_shape")
            return lambda node: node.plain_values[at][number]
        what: Callable[[tuple[int, ...]], Any] = operator.itemgetter(number)
    else:
        operand, what = next((name.removesuffix(end), what) for end, what in _OF_SHAPE.items() if name.endswith(end))
    at = [op.signature.params[i].name for i, _ in op.rules].index(operand)
    return lambda node: what(shape_at(node.next_edges[at]))


_DIMENSION = re.compile("(.*)_sym_argsize_(minus_)?([0-9])")
_OF_SHAPE: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "_sym_sizes": tuple, "_sym_sizes_opt": lambda shape: shape or (0,), "_sym_numel": math.prod, "_dim": len,
}  # fmt: skip


def _unsigned(value: Any) -> Any:
    """An argument as PyTorch shows it: integers without sign."""
    if value.__class__ is int and value < 0:
        return value + (1 << 64)
    return tuple([_unsigned(v) for v in value]) if value.__class__ in (tuple, list) else value


def shape_at(edge: Any) -> tuple[int, ...]:
    """The shape of what an edge leads to; nothing where nobody asks for its gradient."""
    if edge is None:
        return ()
    shape: tuple[int, ...] = edge[0].output_forms[edge[1]][0] if edge.__class__ is tuple else edge._array.shape
    return shape


def _raw(node: OpNode, at: int) -> Any:
    op = node.op
    name = op.saved_names[at]
    place = op.signature.by_name.get(name)
    if node.saved_entries is None and place is not None and op.signature.params[place].sequence:
        raise freed()
    return raw(node, at)


def _kept(node: OpNode, at: int, number: bool) -> Any:
    """The value of a saved entry."""
    if node.saved_entries is None:
        raise freed()
    entry = node.saved_entries[at]
    return read(entry, node) if number else shown(entry, node)
