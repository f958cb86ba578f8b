"""A graph as several modules that are called one after the other."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes of one part."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.graph = Graph()
        self.inputs: dict[str, Node] = {}
        self.outputs: dict[str, Node] = {}
        self.nodes: list[Node] = []
        self.targets: dict[str, Any] = {}
        self.environment: dict[Node, Node] = {}


def split_module(
    m: GraphModule, root_m: Any, split_callback: Callable[[Node], int], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False, **_: Any,
) -> GraphModule:  # fmt: skip
    """A module whose submodules are the parts that `split_callback` puts nodes in, by number."""
    parts: dict[str, Partition] = {}
    home: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = home[node] = str(split_callback(node))
        parts.setdefault(name, Partition(name)).nodes.append(node)
    for node in m.graph.nodes:
        for used in node.all_input_nodes:
            if used.op == "get_attr" or home.get(used) == home.get(node):
                continue
            if used in home:
                parts[home[used]].outputs[used.name] = used
            if node in home:
                parts[home[node]].inputs[used.name] = used
    for part in parts.values():
        _fill(m, part, qualname_map)
    return _together(m, parts, home)


def _fill(m: GraphModule, part: Partition, names: dict[str, str] | None) -> None:
    """The graph of a part."""
    for name, node in part.inputs.items():
        made = part.graph.placeholder(name, type_expr=node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made

    def inside(node: Node) -> Node:
        if node not in part.environment:  # an attribute
            part.environment[node] = part.graph.get_attr(_kept(m, part, str(node.target), names), node.type)
        return part.environment[node]

    for node in part.nodes:
        target = _kept(m, part, str(node.target), names) if node.op == "call_module" else node.target
        args, kwargs = map_arg(node.args, inside), map_arg(dict(node.kwargs), inside)
        made = part.graph.create_node(node.op, target, args, kwargs, node.name, node.type)
        made.meta = node.meta.copy()
        part.environment[node] = made
    results = tuple([part.environment[node] for node in part.outputs.values()])
    if results:
        part.graph.output(results[0] if len(results) == 1 else results)


def _kept(m: GraphModule, part: Partition, target: str, names: dict[str, str] | None) -> str:
    """The name in a part of what the module has under a dotted path."""
    found: Any = m
    for piece in target.split("."):
        found = getattr(found, piece)
    flat = target.replace(".", "_")
    part.targets[flat] = found
    if names is not None:
        names[f"{part.submod_name}.{flat}"] = target
    return flat


def _together(m: GraphModule, parts: dict[str, Partition], home: dict[Node, str]) -> GraphModule:
    """The module that calls the parts."""
    base, attributes = Graph(), {}
    known: dict[Node, Node] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            known[node] = base.placeholder(str(node.target), type_expr=node.type, default_value=default)
            known[node].meta = node.meta.copy()

    def outside(node: Node) -> Node:
        if node not in known and node.op == "get_attr":
            found: Any = m
            for piece in str(node.target).split("."):
                found = getattr(found, piece)
            attributes[str(node.target)] = found
            known[node] = base.get_attr(str(node.target))
        return known[node]

    for part in _sorted(parts, home):
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        called = base.call_module(part.submod_name, tuple([outside(n) for n in part.inputs.values()]))
        if len(part.outputs) == 1:
            known[next(iter(part.outputs.values()))] = called
        for at, node in enumerate(part.outputs.values() if len(part.outputs) > 1 else ()):
            known[node] = base.call_function(getitem, (called, at))
    last = m.graph.output_node()
    base.output(map_arg(last.args[0], outside), last.type)
    return GraphModule(attributes, base)


def _sorted(parts: dict[str, Partition], home: dict[Node, str]) -> list[Partition]:
    """The parts, each after those that it takes from."""
    needs = {n: {home[i] for i in p.inputs.values() if i in home} for n, p in parts.items()}
    found: list[Partition] = []
    while needs:
        ready = [name for name, wanted in needs.items() if not wanted]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        found.append(parts[ready[0]])
        needs.pop(ready[0])
        for wanted in needs.values():
            wanted.discard(ready[0])
    return found
