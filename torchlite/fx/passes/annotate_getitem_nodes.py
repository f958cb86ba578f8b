"""The types of what is taken out of typed containers."""

from __future__ import annotations

import operator

from ..graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give nodes that take an item the type that the container's own says of it."""
    for node in graph.nodes:
        if node.target != operator.getitem or node.type is not None:
            continue
        whole, place = node.args[:2]
        kind = whole.type
        parts = getattr(kind, "__args__", None)
        if isinstance(kind, type) and hasattr(kind, "_fields") and isinstance(place, int):
            node.type = kind.__annotations__.get(kind._fields[place])
        elif parts and getattr(kind, "__origin__", None) is tuple:
            node.type = parts[0] if len(parts) == 2 and parts[1] is ... else parts[place]
        elif parts and getattr(kind, "__origin__", None) in (list, dict):
            node.type = parts[-1]
