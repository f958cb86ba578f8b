"""The graph of a linear map as PyTorch records it: `t`, `mm` or `addmm`, and views around them.

`linear` records one node for all of these. Whoever looks at what that node leads to, or at what it saved, finds the
steps: they are put in its place then, and not before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.declare import OpNode, shape_at
from ...core.machine import Node, wrap_shown
from ...core.state import local
from ...core.values import contiguous_strides
from ..shapes.orders import t
from ..shapes.shape import unsafe_view, view
from .added_products import addmm
from .matmul import mm

if TYPE_CHECKING:
    from ...core.declare import Op


class LinearNode(OpNode):
    """The node of `linear`, as long as nobody has looked at it."""

    __slots__ = ()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one's gradients go to."""
        return self.next_functions if _take_apart(self) else super().next_functions

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")) and _take_apart(self):
            return getattr(self, name)
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return dir(self) if _take_apart(self) else super().__dir__()


def _take_apart(node: OpNode) -> bool:
    """Put the steps in a node's place, unless a backward pass may be counting on the node as it is."""
    shape, _, backend = node.output_forms[0]
    saved = node.saved_entries
    if local.state.task is not None or backend.level or saved.__class__ not in (tuple, type(None)):
        return False
    input, weight = saved or (None, None)
    if input is not None and input[1] != (0 if input[0]._counter is None else input[0]._counter.n):
        return False  # what is to be shown as a matrix is gone
    *bias, to_input, to_weight = node.next_edges
    rows = math.prod(shape[:-1])
    to_mat1, to_mat2 = to_input, None
    if len(shape) != 2 and to_input is not None:
        full = shape_at(to_input)
        to_mat1 = (_step(node, view, to_input, (rows, full[-1]), full), 0)
    if to_weight is not None:
        to_mat2 = (_step(node, t, to_weight, shape_at(to_weight)[::-1]), 0)
    mat1 = input if len(shape) == 2 else _shown(input, to_mat1, lambda a: a.reshape((rows, a.shape[-1])))
    mat2 = _shown(weight, to_mat2, lambda a: a.T)
    product: OpNode = node
    if len(shape) != 2:
        outer = view if bias else unsafe_view
        product = _step(node, addmm if bias else mm, None, (rows, shape[-1]))
        node.__class__, node.next_edges = outer.node_class, ((product, 0),)
        node.saved_entries, node.plain_values = (), ((rows, shape[-1]),)
    factors = ((shape[-1],), 1, 1) if bias else ()
    of_mat1 = () if to_input is None else (rows, shape_at(to_input)[-1])
    of_weight = () if to_weight is None else shape_at(to_weight)
    whole = contiguous_strides(of_mat1), contiguous_strides(of_weight)[::-1]
    product.plain_values = (*factors, *_laid(mat1, of_mat1, whole[0]), *_laid(mat2, of_weight[::-1], whole[1]))
    product.__class__ = (addmm if bias else mm).node_class
    product.next_edges = (*bias, to_mat1, to_mat2)
    product.saved_entries = None if saved is None else (mat1, mat2) if bias else (mat2, mat1)
    return True


def _step(node: OpNode, op: Op, edge: Any, shape: tuple[int, ...], *plain: Any) -> OpNode:
    """The node of a step with a result of this shape, which leads to `edge`."""
    made = op.node_class((edge,), ((shape, *node.output_forms[0][1:]),))
    made.operand_forms, made.plain_values = None, plain
    made.sequence_nr, made.node_metadata = node.sequence_nr, node.node_metadata
    return made


def _laid(entry: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and the strides of an operand, as its gradient has them; these where it was not kept."""
    return (shape, strides) if entry is None else (tuple(entry[0].shape), entry[0].stride())


def _shown(entry: Any, edge: Any, change: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """What was saved, shown by a step."""
    if entry is None:
        return None
    tensor, version = entry
    made = wrap_shown(change(tensor._array), tensor.dtype, tensor._backend.real)
    made._counter, made._edge = tensor._counter, edge
    return made, version
