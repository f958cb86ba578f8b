"""Splitting a module by marks on its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import getitem
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at a dotted path; None where there is none."""
    for layer in name.split("."):
        if not hasattr(obj, layer):
            return None
        obj = getattr(obj, layer)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute at a dotted path."""
    *path, last = attr.split(".")
    for layer in path:
        obj = getattr(obj, layer)
    setattr(obj, last, value)


@dataclass
class Component:
    """One of the parts: its graph, and what it takes and gives, inside and outside."""

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:  # fmt: skip
    """A module whose parts are the nodes of each tag, called in the order of the tags."""
    parts = {tag: Component(Graph(), at, tag) for at, tag in enumerate(tags)}
    inside: dict[Node, Node] = {}
    home: dict[Node, Component] = {}
    for node in gm.graph.nodes:
        if node.op not in ("get_attr", "output", "placeholder"):
            if not hasattr(node, "tag"):
                raise AssertionError(f"Node does not have tag: {node.format_node()}")
            home[node] = parts[node.tag]
            _put(node, home, inside)
    last = gm.graph.output_node()
    for used in last.all_input_nodes:
        _given(used, home)
    whole, attributes, names = Graph(), {}, {}
    known = {n: whole.node_copy(n) for n in gm.graph.nodes if n.op == "placeholder"}

    def outside(node: Node) -> Node:
        if node not in known:
            known[node] = whole.node_copy(node, outside)
            attributes[str(node.target)] = getattr_recursive(gm, str(node.target))
        return known[node]

    for part in parts.values():
        results = tuple([inside[n] for n in part.orig_outputs])
        part.graph.output(results if return_tuple or len(results) != 1 else results[0])
        part.gm, own = lift_subgraph_as_module(gm, part.graph, comp_name=part.name)
        names.update(own)
        attributes[part.name] = part.gm
        called = whole.call_module(part.name, tuple([outside(n) for n in part.orig_inputs]))
        for at, node in enumerate(part.orig_outputs):
            alone = not return_tuple and len(results) == 1
            known[node] = called if alone else whole.call_function(getitem, (called, at))
    whole.output(map_arg(last.args[0], outside), last.type).meta = last.meta.copy()
    root = HolderModule({n: m for n, m in attributes.items() if n in parts})
    for name, value in attributes.items():
        if name not in parts:
            setattr(root, name, value)
    made = GraphModuleCls(root, whole)
    return (made, names) if return_fqn_mapping else made


def _given(node: Node, home: dict[Node, Component]) -> None:
    """A node is used outside its part."""
    if node in home and node not in home[node].orig_outputs:
        home[node].orig_outputs.append(node)


def _put(node: Node, home: dict[Node, Component], inside: dict[Node, Node]) -> None:
    """Copy a node into its part."""
    part = home[node]

    def inner(used: Node) -> Node:
        if home.get(used) is part:
            return inside[used]
        if used.op == "get_attr":
            if used not in part.getattr_maps:
                part.getattr_maps[used] = part.graph.get_attr(str(used.target), used.type)
            return part.getattr_maps[used]
        if used not in part.orig_inputs:
            part.orig_inputs.append(used)
            made = part.graph.placeholder(used.name, type_expr=used.type)
            made.meta = used.meta.copy()
            part.input_placeholders.append(made)
            _given(used, home)
        return part.input_placeholders[part.orig_inputs.index(used)]

    inside[node] = part.graph.node_copy(node, inner)
    vars(inside[node])["tag"] = part.name
