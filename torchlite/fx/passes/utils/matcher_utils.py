"""Finding one graph in another."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]

_Found = dict[Node, Any]


@dataclass
class InternalMatch:
    """Where a pattern was found: which nodes meet its own, and which of them are its arguments and results."""

    anchors: list[Node]
    nodes_map: _Found = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            list(self.anchors), dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes),
            dict(self.name_node_map),
        )  # fmt: skip


class SubgraphMatcher:
    """Finds a pattern: its nodes are met from what it gives to what it takes."""

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op not in ("output", "placeholder") and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        ends = [n for n in self.pattern_returning_nodes if len(n.users) == 1]
        self.pattern_anchors = [output] if match_output else ends

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Where the pattern is, in the order of the graph, each node in one place at most."""
        matches: list[InternalMatch] = []
        taken: set[Node] = set()
        for found in self._from_anchors(self.pattern_anchors, list(graph.nodes), {}):
            inner = {n for p, n in found.items() if p.op != "placeholder" and isinstance(n, Node)}
            if not self._is_contained(found, inner):
                continue
            if self.remove_overlapping_matches and taken & inner:
                continue
            taken |= inner
            match = InternalMatch(list(self.pattern_anchors), found)
            match.placeholder_nodes = [found[n] for n in self.pattern_placeholder_nodes if n in found]
            match.returning_nodes = [found[n] for n in self.pattern_returning_nodes]
            matches.append(match)
        return matches

    def _from_anchors(self, anchors: list[Node], nodes: list[Node], found: _Found) -> Iterator[_Found]:
        """All ways in which each of the anchors meets a node."""
        if not anchors:
            yield found
            return
        for node in nodes:
            more = copy.copy(found)
            if self._meets(anchors[0], node, more):
                yield from self._from_anchors(anchors[1:], nodes, more)

    def _is_contained(self, found: _Found, inner: set[Node]) -> bool:
        """Whether nobody outside uses what the pattern does not give."""
        for pattern, node in found.items():
            if pattern.op == "placeholder" or pattern in self.pattern_returning_nodes:
                continue
            if any(user not in inner for user in node.users):
                return False
        return True

    def _meets(self, pattern: Node, node: Any, found: _Found) -> bool:
        if pattern in found:
            return found[pattern] is node or (not isinstance(node, Node) and found[pattern] == node)
        if isinstance(node, Node) and node in found.values():
            return False
        if pattern.op == "placeholder" and not self.match_placeholder:
            found[pattern] = node
            return True
        if not isinstance(node, Node) or not self._same_target(pattern, node):
            return False
        found[pattern] = node
        before = dict(found)
        if self._meet(pattern.args, node.args, found) and self._meet(dict(pattern.kwargs), dict(node.kwargs), found):
            return True
        for new in found.keys() - before.keys() | {pattern}:
            found.pop(new)
        return False

    def _same_target(self, pattern: Node, node: Node) -> bool:
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op != "call_module":
            return pattern.target == node.target
        mine, theirs = (n.graph.owning_module.get_submodule(str(n.target)) for n in (node, pattern))
        return type(mine) is type(theirs)

    def _meet(self, pattern: Any, value: Any, found: _Found) -> bool:
        if isinstance(pattern, Node):
            return self._meets(pattern, value, found)
        if isinstance(pattern, (list, tuple)):
            same = isinstance(value, (list, tuple)) and len(value) == len(pattern)
            return same and all(self._meet(p, v, found) for p, v in zip(pattern, value, strict=True))
        if isinstance(pattern, dict):
            same = isinstance(value, dict) and value.keys() == pattern.keys()
            return same and all(self._meet(p, value[k], found) for k, p in pattern.items())
        return not isinstance(value, Node) and (self.ignore_literals or pattern == value)
