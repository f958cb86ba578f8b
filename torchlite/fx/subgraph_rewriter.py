"""Putting one piece of a graph in the place of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that its last one met, and which met which."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns:
    """A match that was replaced, and the nodes that came in its place."""

    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]) -> None:
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


class _Matcher:
    """Finds a pattern in a graph."""

    def __init__(self, pattern: Graph) -> None:
        self.pattern = pattern
        self.output = pattern.output_node()
        self.anchors = self.output.all_input_nodes

    def match_at(self, node: Node) -> dict[Node, Node] | None:
        """Which nodes meet those of the pattern if `node` meets its last one."""
        found: dict[Node, Node] = {}
        if not self._meets(self.anchors[0], node, found):
            return None
        inner = {mine for theirs, mine in found.items() if theirs.op not in ("placeholder", "get_attr")}
        ends = {found[a] for a in self.anchors if a in found}
        outside = [n for n in inner - ends for user in n.users if user not in inner]
        return None if outside or any(a not in found for a in self.anchors) else found

    def _meets(self, pattern: Node, node: Any, found: dict[Node, Node]) -> bool:
        if not isinstance(node, Node):
            return pattern.op == "placeholder" and found.setdefault(pattern, node) == node
        if pattern in found:
            return found[pattern] is node
        if pattern.op == "placeholder":
            found[pattern] = node
            return True
        if pattern.op != node.op or (pattern.op != "get_attr" and not self._same_target(pattern, node)):
            return False
        if pattern.op == "get_attr" and pattern.target != node.target:
            return False
        found[pattern] = node
        if self._meet(pattern.args, node.args, found) and self._meet(dict(pattern.kwargs), dict(node.kwargs), found):
            return True
        found.pop(pattern, None)
        return False

    def _same_target(self, pattern: Node, node: Node) -> bool:
        if pattern.op != "call_module":
            return pattern.target == node.target
        mine, theirs = (n.graph.owning_module.get_submodule(str(n.target)) for n in (node, pattern))
        return type(mine) is type(theirs)

    def _meet(self, pattern: Any, value: Any, found: dict[Node, Node]) -> bool:
        if isinstance(pattern, Node):
            return self._meets(pattern, value, found)
        if isinstance(pattern, (list, tuple)):
            same = isinstance(value, (list, tuple)) and len(value) == len(pattern)
            return same and all(self._meet(p, v, found) for p, v in zip(pattern, value, strict=True))
        if isinstance(pattern, dict):
            same = isinstance(value, dict) and value.keys() == pattern.keys()
            return same and all(self._meet(p, value[k], found) for k, p in pattern.items())
        return not isinstance(value, Node) and pattern == value


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
    matcher = _Matcher(pattern_graph)
    used: set[Node] = set()
    replaced: list[ReplacedPatterns] = []
    swapped: dict[Node, Node] = {}
    for node in list(gm.graph.nodes):
        if node in used or node._erased:
            continue
        found = matcher.match_at(node)
        if found is None:
            continue
        inner = [mine for theirs, mine in found.items() if theirs.op != "placeholder"]
        match = Match(node, found)
        if used.intersection(inner) or not all(f(match, gm.graph, pattern_graph) for f in match_filters or ()):
            continue
        used.update(inner)
        replaced.append(_replaced(gm, match, matcher, pattern_graph, replacement_graph, swapped))
    gm.recompile()
    if isinstance(replacement, Module):
        for node in replacement_graph.nodes:
            if node.op in ("call_module", "get_attr"):
                _copy_attr(replacement, gm, str(node.target))
    return replaced


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _replaced(
    gm: GraphModule, match: Match, matcher: _Matcher, pattern: Graph, replacement: Graph, swapped: dict[Node, Node]
) -> ReplacedPatterns:
    """Copy the replacement in, let users use it, and take the matched nodes away."""
    found = match.nodes_map
    theirs = [n for n in pattern.nodes if n.op == "placeholder"]
    ours = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(theirs) != len(ours):
        raise AssertionError("pattern and replacement take as many arguments")
    known: dict[Node, Any] = {}
    for before, after in zip(theirs, ours, strict=True):
        known[after] = swapped.get(found[before], found[before])
    made: list[Node] = []
    with gm.graph.inserting_before(match.anchor):
        for node in replacement.nodes:
            if node.op == "placeholder":
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: known[n])
                break
            known[node] = gm.graph.node_copy(node, lambda n: known[n])
            made.append(known[node])
    results = [result] if isinstance(result, Node) else list(result)
    for end, new in zip([found[a] for a in matcher.anchors], results, strict=True):
        end.replace_all_uses_with(new)
        swapped[end] = new
    for node in reversed(list(found)):
        mine = found[node]
        if isinstance(mine, Node) and node.op != "placeholder" and not mine.users and not mine._erased:
            gm.graph.erase_node(mine)
    for node in list(found):
        mine = found[node]
        if isinstance(mine, Node) and node.op != "placeholder" and not mine._erased and not mine.users:
            gm.graph.erase_node(mine)
    return ReplacedPatterns(match.anchor, found, made)
