"""A graph whose level has ended, in terms of the level below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.declare import OpNode
from ..core.machine import CopySlices, SavedList, SavedOutput, requires_grad, version_of

if TYPE_CHECKING:
    from .nested import NestedLevel


def settle(level: NestedLevel, edges: Sequence[Any]) -> bool:
    """Let the nodes that lead here keep the tensors inside in place of those of their level, which has ended.

    Backward through them then runs on the level below at once. What was written to on that level since is read as it
    is now. The answer is whether plain tensors without history, and no hooks, are all that is there.
    """
    plain = True
    stack = [edge[0] for edge in edges if edge.__class__ is tuple]
    seen = set(stack)
    while stack:
        node = stack.pop()
        following = [edge[0] for edge in node.next_edges if edge.__class__ is tuple]
        saved = node.saved_entries
        if saved.__class__ is tuple and isinstance(node, (OpNode, CopySlices)):
            node.output_forms = tuple([_form(level, form) for form in node.output_forms])
            if node.__class__ is CopySlices:
                following += saved
            else:
                node.saved_entries = saved = tuple([_entry(level, entry) for entry in saved])
            plain = plain and node.node_hooks is None and all(map(_plain_form, node.output_forms))
            plain = plain and all(map(_plain_entry, saved))
        else:
            plain = False
        plain = plain and all([e.extra is None for e in node.next_edges if e is not None and e.__class__ is not tuple])
        for to in following:
            if to not in seen:
                seen.add(to)
                stack.append(to)
    return plain


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
    if tensor.backend.level == level.serial:
        if version_of(tensor) != version:
            return entry
        tensor = tensor.array.main
    return (tensor, version_of(tensor))


def _plain_form(form: Any) -> bool:
    return form is None or form[2].bare


def _plain_entry(entry: Any) -> bool:
    if entry.__class__ is not tuple:
        return not isinstance(entry, SavedList) or all(map(_plain_entry, entry.entries))
    return entry[0].backend.bare and not requires_grad(entry[0])
