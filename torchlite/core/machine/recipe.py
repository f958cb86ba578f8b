"""Recipes: how calls of one form are recorded. All that a node notes is known from the form, but for what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .node import LEAF, sequence
from .operands import NOWHERE, described, differentiable, edge_of
from .saved import SavedList, SavedNumber, entries_of, keep_output
from .tensor import Tensor

_new = object.__new__
_OF_FORM = frozenset(("", "shape", "dtype", "stride", "device", "ndim", "dim", "numel", "size"))


Bound = Callable[[Sequence[Tensor]], Sequence[Any]]  # gives the bound arguments of a call of its tensors
Record = Callable[[Sequence[Tensor], Bound, Any], None]


def recorder(
    op: Any, values: Sequence[Any], operands: Sequence[tuple[int, Any]], tensors: Sequence[Tensor], results: Any,
    other: Record | None = None,
) -> Record:
    """`op.record` for calls of one form, of which `values`, with `tensors` at the places `operands`, gave `results`.

    Where these are of a level, `other` records in general, and operands from below are constants.
    """

    def general(tensors: Sequence[Tensor], bound: Bound, results: Any) -> None:
        op.record(bound(tensors), results if results.__class__ is tuple else (results,))

    listed = results if results.__class__ is tuple else (results,)
    refused = op.node_class_for(values).fails or op.lacks_gradients(values)
    if refused or any([r is None for r in listed]) or not differentiable(op, listed):
        return other or general
    notes = _notes(op, values, listed)
    if notes is None:
        return other or general
    constant = [k for k, t in enumerate(tensors) if t.backend.level < listed[0].backend.level]
    return _by_recipe(op, values, dict(operands), constant, results, notes, other or general)


def _by_recipe(
    op: Any, values: Sequence[Any], places: dict[int, Any], constant: Any, results: Any, notes: Any, general: Record
) -> Record:
    node_class, single = op.node_class_for(values), results.__class__ is not tuple
    listed = (results,) if single else results
    through = differentiable(op, listed)
    outputs = slice(through[-1] + 1)
    edges_from: list[Any] = [None if k in constant else k for k in _edge_sources(op, values, places)]
    keeping = _keeping(op, values, places, len(op.rules) == len(edges_from))
    operand_forms = op.operand_forms(values, listed, [None] * len(edges_from))
    reshaped = op.follows_edges and operand_forms is not None

    def record(tensors: Sequence[Tensor], bound: Bound, results: Any) -> None:
        edges, live = [], False
        for k in edges_from:
            edge = None if k is None else tensors[k].edge
            if edge is not None:
                t = tensors[k]
                if edge.__class__ is not tuple:
                    edge = t if edge is LEAF else edge_of(t)
                if edge is NOWHERE or (reshaped and _other_shape(edge, t)):
                    return general(tensors, bound, results)
                live = live or edge is not None
            edges.append(edge)
        if not live:
            return None
        listed = (results,) if single else results
        backend = listed[0].backend.home
        node = _new(node_class)
        node.next_edges = tuple(edges)
        node.sequence_nr = next(sequence)
        node.node_hooks = node.node_metadata = None
        node.operand_forms = operand_forms
        node.plain_values = notes
        if single:
            node.output_forms = ((results.array.shape, results.dtype, backend),)
        else:
            node.output_forms = tuple([(r.array.shape, r.dtype, backend) for r in listed[outputs]])
        for nr in through:
            listed[nr].edge = (node, nr)
        saved: list[Any] = []
        for constant, which, nr, only_for in keeping:
            if only_for and not [1 for user in only_for if edges[user] is not None]:
                saved.append(None)
            elif which is None:
                saved.append(constant if nr is None else keep_output(listed[nr], nr))
            elif which.__class__ is int:
                t = tensors[which]
                saved.append((t, 0 if t.counter is None else t.counter.n))
            else:
                saved.append(SavedList([_pair(tensors[k]) for k in which]))
        node.saved_entries = entries_of(saved)
        return None

    if through == list(range(len(through))):
        record.native = (  # type: ignore[attr-defined]
            node_class, tuple(edges_from), tuple(keeping), tuple(notes), operand_forms, reshaped, len(through),
        )  # fmt: skip
    return record


def _notes(op: Any, values: Sequence[Any], listed: Sequence[Any]) -> tuple[Any, ...] | None:
    """The plain values that nodes of this form note; None where the form does not tell them.

    Where something is noted of a result, its form follows from those of the operands.
    """
    found = []
    for of_result, at, what in op._to_note:
        source = (listed if of_result else values)[at]
        if what not in _OF_FORM or (not what and isinstance(source, Tensor)):
            return None
        found.append(described(source, what) if what else source)
    return tuple(found)


def _pair(t: Tensor) -> tuple[Tensor, int]:
    counter = t.counter
    return t, 0 if counter is None else counter.n


def _other_shape(edge: Any, t: Tensor) -> bool:
    """Whether an edge leads to what has another shape, as for a view that was reshaped in place."""
    return edge.__class__ is tuple and edge[0].output_forms[edge[1]][0] != t.array.shape


def _edge_sources(op: Any, values: Sequence[Any], places: dict[int, Any]) -> list[Any]:
    """For each edge of the node, which tensor it comes from."""
    found: list[int | None] = []
    for at, _ in op.rules:
        which = places.get(at)
        if which.__class__ is tuple:
            found.extend(which)
        elif which is None and values[at].__class__ is tuple:
            found.extend([None] * len(values[at]))
        else:
            found.append(which)
    return found


def _keeping(
    op: Any, values: Sequence[Any], places: dict[int, Any], selective: bool
) -> list[tuple[Any, Any, Any, Any]]:
    """For each saved name: a constant, or which tensors, or which result; and the edges without which it is spared."""
    found = []
    for is_result, at, users in op._to_save:
        only_for = users if selective and not is_result and op.may_spare(users) else ()
        constant = None if is_result or values[at] is None or at in places else SavedNumber(values[at])
        found.append((constant, None if is_result else places.get(at), at if is_result else None, only_for))
    return found
