"""Finding a graph in another, whose nodes a pattern gives names."""

from __future__ import annotations

from typing import Any

from ....utils import _pytree
from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ...pytree_codegen import _PyTreeCodeGen
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """A pattern without the last of its results, and that: nodes by the names that it gives them."""
    output, codegen = gm.graph.output_node(), gm.graph._codegen
    given: Any = output.args[0]
    if isinstance(codegen, _PyTreeCodeGen):
        given = _pytree.tree_unflatten(list(given), codegen.pytree_info.out_spec)
    if not isinstance(given, tuple):
        raise AssertionError("Expecting the pattern graph to return a tuple")
    if len(given) < 2:
        raise AssertionError("Expecting the pattern graph to have at least two outputs")
    *results, names = given
    if not isinstance(names, dict):
        raise AssertionError("Expecting the input graph to have a dict output as the last element")
    leaves, out_spec = _pytree.tree_flatten(results)
    if isinstance(codegen, _PyTreeCodeGen):
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
    output.args = (leaves,)
    gm.recompile()
    return gm, names


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """Finds a pattern whose last result is a dict of nodes by names; matches have theirs by the same names."""

    def __init__(
        self, pattern_gm: GraphModule, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map = {name: match.nodes_map[node] for name, node in self.name_node_map.items()}
        return found
