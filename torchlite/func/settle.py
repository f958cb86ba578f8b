"""A graph whose level has ended, in terms of the level below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.declare import OpNode
from ..core.machine import LEAF, CopySlices, Node, SavedList, SavedOutput, requires_grad, version_of

if TYPE_CHECKING:
    from ..core.machine import Tensor
    from .nested import NestedLevel


def settle(level: NestedLevel, edges: Sequence[Any], bare: bool) -> bool:
    """Let the nodes that lead here keep the tensors inside in place of those of their level, which has ended.

    Backward through them then runs on the level below at once. What was written to on that level since is read as it
    is now. The answer is whether a pass may run on `bare` arrays: whether plain tensors without history, and no hooks,
    are all that is there.
    """
    plain, by_twins = bare, []
    stack = [edge[0] for edge in edges if edge.__class__ is tuple]
    seen = set(stack)
    while stack:
        node = stack.pop()
        following = []
        for edge in node.next_edges:
            if edge.__class__ is tuple:
                following.append(edge[0])
            elif edge is not None:
                plain = plain and edge._extra is None
        saved = node.saved_entries
        if level.has_twins and _is_by_twins(node):
            by_twins.append(node)
            plain = plain and node.node_hooks is None
        elif saved.__class__ is tuple and isinstance(node, (OpNode, CopySlices)):
            node.output_forms = tuple([_form(level, form) for form in node.output_forms])
            if node.__class__ is CopySlices:
                following += saved
            else:
                node.saved_entries = saved = tuple([_entry(level, entry) for entry in saved])
            plain = plain and node.node_hooks is None and all(map(_plain_entry, saved))
            plain = plain and all([form is None or form[2].bare for form in node.output_forms])
        else:
            plain = False
        for to in following:
            if to not in seen:
                seen.add(to)
                stack.append(to)
    if not plain:
        for node in by_twins:
            node.saved_entries = tuple(map(_below_twin, node.saved_entries or ()))
        level.has_twins = False
    return plain


def unsettle(level: NestedLevel, edges: Sequence[Any]) -> None:
    """Let the nodes that lead here, of a level that still runs, keep tensors of it where they keep twins."""

    def raised(twin: Tensor) -> Tensor:
        t = level.over(twin._backend.real).lifted(twin._alias())
        t._edge, t._counter = twin if twin._edge is LEAF else twin._edge, twin._counter
        return t

    stack = [edge[0] for edge in edges if edge.__class__ is tuple]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if _is_by_twins(node):
            node.output_forms = tuple([f and (f[0], f[1], level.over(f[2])) for f in node.output_forms])
            node.saved_entries = tuple([_above_twin(entry, raised) for entry in node.saved_entries or ()])
        for edge in node.next_edges:
            if edge.__class__ is tuple and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])


def _is_by_twins(node: Node) -> bool:
    """Whether a node of a level was recorded on twins, which are tensors of a device."""
    return isinstance(node, OpNode) and any([form and form[2].bare for form in node.output_forms])


def _below_twin(entry: Any) -> Any:
    """The entry of a tensor without history in place of a twin, or a result."""
    if entry.__class__ is SavedOutput:
        return entry.tensor, entry.version
    if entry.__class__ is SavedList:
        return SavedList([_below_twin(e) for e in entry.entries])
    return (entry[0]._alias(), entry[1]) if entry.__class__ is tuple else entry


def _above_twin(entry: Any, raised: Callable[[Tensor], Tensor]) -> Any:
    """The entry of a tensor of the level in place of a twin, or a result."""
    if entry.__class__ is SavedOutput:
        made = SavedOutput.__new__(SavedOutput)
        made.tensor, made.version, made.output = raised(entry.tensor), entry.version, entry.output
        return made
    if entry.__class__ is SavedList:
        return SavedList([_above_twin(e, raised) for e in entry.entries])
    return (raised(entry[0]), entry[1]) if entry.__class__ is tuple and entry[0]._edge is not None else entry


def _form(level: NestedLevel, form: Any) -> Any:
    if form is None or form[2].level != level.serial:
        return form
    shape, d, backend = form
    return shape, d, backend.inner


def _entry(level: NestedLevel, entry: Any) -> Any:
    """The entry of the tensor inside; one that was written to on the level itself stays, as the error to be raised."""
    if entry.__class__ is tuple:
        tensor, version = entry
    elif entry.__class__ is SavedOutput:
        tensor, version = entry.tensor, entry.version
    elif entry.__class__ is SavedList:
        return SavedList([_entry(level, e) for e in entry.entries])
    else:
        return entry
    if tensor._backend.level == level.serial:
        if version_of(tensor) != version:
            return entry
        tensor = tensor._array.main
    return (tensor, version_of(tensor))


def _plain_entry(entry: Any) -> bool:
    if entry.__class__ is not tuple:
        return not isinstance(entry, SavedList) or all(map(_plain_entry, entry.entries))
    return entry[0]._backend.bare and not requires_grad(entry[0])
