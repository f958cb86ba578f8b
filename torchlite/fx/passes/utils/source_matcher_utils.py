"""Nodes by the functions or modules of the program that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that come from one call, what they take and what they give."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The nodes of each call of what is wanted, as `source_fn_stack` in their `meta` tells it."""
    calls: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        found = node.meta.get("source_fn_stack", ())
        if found and found[-1][1] in wanted_sources:
            name, source = found[-1]
            calls.setdefault(source, {}).setdefault(name, []).append(node)
    made = {source: [_partition(nodes, source) for nodes in by_name.values()] for source, by_name in calls.items()}
    if filter_fn is None:
        return made
    kept = {source: [p for p in parts if all(map(filter_fn, p.nodes))] for source, parts in made.items()}
    return {source: parts for source, parts in kept.items() if parts}


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    taken = dict.fromkeys([used for node in nodes for used in node.all_input_nodes if used not in inside])
    return SourcePartition(
        nodes, source, list(taken), [n for n in nodes if any(user not in inside for user in n.users)],
        [n for n in taken if n.op == "get_attr"],
    )  # fmt: skip


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second takes what the first gives."""
    return any(used in subgraph1.nodes for node in subgraph2.nodes for used in node.all_input_nodes)
