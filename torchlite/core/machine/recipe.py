"""Recipes: how calls of one form are recorded. All that a node notes is known from the form, but for what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .node import LEAF, sequence
from .operands import NOWHERE, described, differentiable, edge_of
from .remembered import written
from .saved import SavedList, SavedNumber, keep_output
from .tensor import Tensor

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
    constant = [k for k, t in enumerate(tensors) if t._backend.level < listed[0]._backend.level]
    return _by_recipe(op, values, dict(operands), constant, results, notes, other or general)


def _by_recipe(
    op: Any, values: Sequence[Any], places: dict[int, Any], constant: Any, results: Any, notes: Any, general: Record
) -> Record:
    node_class, single = op.node_class_for(values), results.__class__ is not tuple
    listed = (results,) if single else results
    through = differentiable(op, listed)
    edges_from: list[Any] = [None if k in constant else k for k in _edge_sources(op, values, places)]
    keeping = _keeping(op, values, places, len(op.rules) == len(edges_from))
    operand_forms = op.operand_forms(values, listed, [None] * len(edges_from))
    reshaped = op.follows_edges and operand_forms is not None

    constants = {f"kept{i}": kept[0] for i, kept in enumerate(keeping)}
    record: Any = written(
        _source(edges_from, keeping, through, reshaped, single),
        **_NAMES, **constants, general=general, node_class=node_class, operand_forms=operand_forms, notes=notes,
    )  # fmt: skip
    if through == list(range(len(through))):
        record.native = (
            node_class, tuple(edges_from), tuple(keeping), tuple(notes), operand_forms, reshaped, len(through),
        )  # fmt: skip
    return record


def _source(edges_from: list[Any], keeping: list[Any], through: list[int], reshaped: bool, single: bool) -> str:
    """What records calls of one form, without a step for what these do not have."""
    sources = [k for k in edges_from if k is not None]
    others = {which for _, which, _, _ in keeping if which.__class__ is int}.difference(sources)
    edges = [f"edge{k}" for k in sources] or ["None"]
    results = ["results"] if single else [f"results[{nr}]" for nr in range(through[-1] + 1)]
    entries = [_entry(i, kept, edges_from, single) for i, kept in enumerate(keeping)]
    return "\n ".join([
        "def written(tensors, bound, results):",
        *[f"t{k} = tensors[{k}]" for k in (*sources, *others)],
        *[line for k in sources for line in _edge(k, reshaped)],
        f"if {' is '.join(edges)} is None: return",
        "node = new(node_class)",
        f"node.next_edges = ({' '.join(['None,' if k is None else f'edge{k},' for k in edges_from])})",
        "node.sequence_nr = next(sequence)",
        "node.node_hooks = node.node_metadata = None",
        "node.operand_forms = operand_forms",
        "node.plain_values = notes",
        f"backend = {results[0]}._backend.home",
        f"node.output_forms = ({' '.join([f'({r}._array.shape, {r}.dtype, backend),' for r in results])})",
        *[f"{results[nr]}._edge = node, {nr}" for nr in through],
        f"node.saved_entries = ({' '.join(entries)})",
    ])  # fmt: skip


def _edge(k: int, reshaped: bool) -> list[str]:
    """The lines that look for the edge of a tensor."""
    lines = [
        f"edge{k} = t{k}._edge",
        f"if edge{k}.__class__ is not tuple and edge{k} is not None:",
        f" edge{k} = t{k} if edge{k} is LEAF else edge_of(t{k})",
        f" if edge{k} is NOWHERE: return general(tensors, bound, results)",
    ]
    return [*lines, f"if other_shape(edge{k}, t{k}): return general(tensors, bound, results)"] if reshaped else lines


def _entry(i: int, kept: tuple[Any, Any, Any, Any], edges_from: list[Any], single: bool) -> str:
    """What is kept under a saved name: a tensor, several, a result or a constant."""
    _, which, nr, only_for = kept
    if which.__class__ is int:
        entry = f"(t{which}, 0 if (counter := t{which}._counter) is None else counter.n)"
    elif which is not None:
        entry = f"SavedList([pair(tensors[k]) for k in {which}])"
    else:
        result = "results" if single else f"results[{nr}]"
        entry = f"kept{i}" if nr is None else f"keep_output({result}, {nr})"
    users = [f"edge{edges_from[user]} is not None" for user in only_for if edges_from[user] is not None]
    return f"{entry} if {' or '.join(users) or None} else None," if only_for else f"{entry},"


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
    counter = t._counter
    return t, 0 if counter is None else counter.n


def _other_shape(edge: Any, t: Tensor) -> bool:
    """Whether an edge leads to what has another shape, as for a view that was reshaped in place."""
    return edge.__class__ is tuple and edge[0].output_forms[edge[1]][0] != t._array.shape


_NAMES = {
    "LEAF": LEAF, "NOWHERE": NOWHERE, "SavedList": SavedList, "edge_of": edge_of,
    "keep_output": keep_output, "new": object.__new__, "other_shape": _other_shape, "pair": _pair, "sequence": sequence,
}  # fmt: skip


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
