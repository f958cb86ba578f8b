"""Putting one piece of a graph in the place of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that its last one met, and which met which."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns:
    """A match that was replaced, and the nodes that came in its place."""

    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]) -> None:
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace every piece that looks like `pattern`; where it was found."""
    made = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in made]


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any = None,
    match_filters: list[Callable[..., bool]] | None = None, ignore_literals: bool = False, **_: Any,
) -> list[ReplacedPatterns]:  # fmt: skip
    """The same, where all filters, told of a match and of both graphs, agree."""
    pattern_graph, replacement_graph = _graph_of(pattern), _graph_of(replacement)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    replaced: list[ReplacedPatterns] = []
    swapped: dict[Node, Node] = {}
    for match in matcher.match(gm.graph):
        if all(f(match, gm.graph, pattern_graph) for f in match_filters or ()):
            replaced.append(_replaced(gm, match, replacement_graph, swapped))
    if replaced and isinstance(replacement, Module):
        gm.delete_all_unused_submodules()
        for node in replacement_graph.nodes:
            if node.op in ("call_module", "get_attr"):
                _copy_attr(replacement, gm, str(node.target))
    gm.recompile()
    return replaced


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _now(node: Any, swapped: dict[Node, Node]) -> Any:
    """What has come in the place of a node."""
    return swapped.get(node, node) if isinstance(node, Node) else node


def _replaced(gm: GraphModule, match: InternalMatch, replacement: Graph, swapped: dict[Node, Node]) -> ReplacedPatterns:
    """Copy the replacement in before the first who uses the results, let users use it, take the matched nodes away."""
    ours = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(ours):
        raise AssertionError("pattern and replacement take as many arguments")
    match.nodes_map = {theirs: _now(node, swapped) for theirs, node in match.nodes_map.items()}
    match.placeholder_nodes = [_now(node, swapped) for node in match.placeholder_nodes]
    known: dict[Node, Any] = dict(zip(ours, match.placeholder_nodes, strict=True))
    first = min([user for end in match.returning_nodes for user in end.users], default=match.returning_nodes[-1])
    with gm.graph.inserting_before(first):
        result = gm.graph.graph_copy(replacement, known)
    taken = {n for n in match.placeholder_nodes if isinstance(n, Node)}
    made = [n for after, n in known.items() if after.op != "placeholder" and n not in taken]
    for end, new in zip(match.returning_nodes, [result] if isinstance(result, Node) else list(result), strict=True):
        end.replace_all_uses_with(new)
        swapped[end] = new
    inner = [n for theirs, n in match.nodes_map.items() if theirs.op != "placeholder"]
    for node in sorted(inner, reverse=True):
        gm.graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)
