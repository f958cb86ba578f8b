"""Putting nodes of a graph into modules of their own."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ..tools_common import legalize_graph
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition",
]  # fmt: skip


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Nodes of one graph in its order."""
    return sorted(nodes)


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can be one: nothing that needs them is needed by them."""
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: list[Node], module_name: str, partition_lookup_table: dict[Node, int | None] | None = None,
    *, always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:  # fmt: skip
    """A module of some nodes, with the nodes of `gm` that it takes and those that it gives."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes)
    graph, known = Graph(), {}
    taken: list[Node] = []

    def inner(node: Node) -> Node:
        if node not in known:
            known[node] = graph.placeholder(node.name, type_expr=node.type)
            known[node].meta = node.meta.copy()
            taken.append(node)
        return known[node]

    with graph.inserting_before():
        start = graph.call_method("start")
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in inside:
                with graph.inserting_before(start):
                    inner(used)
        known[node] = graph.node_copy(node, inner)
    graph.erase_node(start)
    given = [node for node in nodes if any(user not in inside for user in node.users)]
    results = tuple([known[node] for node in given])
    graph.output(results if always_return_tuple or len(results) != 1 else results[0])
    graph.lint()
    return lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)[0], tuple(taken), tuple(given)


def insert_subgm(
    gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...]
) -> GraphModule:
    """Call a module where the nodes are that it stands for."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    with gm.graph.inserting_after(max(orig_outputs)):
        called = gm.graph.call_module(name, orig_inputs)
    results = sub_gm.graph.output_node().args[0]
    if isinstance(results, Node):
        orig_outputs[0].replace_all_uses_with(called, propagate_meta=True)
        return gm
    last = called
    for at, node in enumerate(orig_outputs):
        with gm.graph.inserting_after(last):
            last = gm.graph.call_function(operator.getitem, (called, at))
        node.replace_all_uses_with(last, propagate_meta=True)
    return gm


def erase_nodes(gm: GraphModule, nodes: Iterable[Node]) -> None:
    """Take nodes away that only each other use."""
    for node in sorted(nodes, reverse=True):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: Iterable[Iterable[Node]], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Put each of several sets of nodes into a module of its own."""
    for at, partition in enumerate(partitions):
        nodes = topo_sort(partition)
        sub_gm, taken, given = fuse_as_graphmodule(gm, nodes, f"{prefix}{at}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub_gm, taken, given)
        erase_nodes(gm, nodes)
    return legalize_graph(gm)
