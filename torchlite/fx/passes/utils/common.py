"""Modules around graphs that were taken out of others, and whether graphs are alike."""

from __future__ import annotations

from typing import Any

from ....nn.modules.module import Module
from ...graph import Graph
from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that has those of a dictionary."""

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module that runs a graph with what it needs of a larger module, and where in that module each part is."""
    submodule, names = HolderModule({}), {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        *path, last = target.split(".")
        source: Any = gm
        to: Any = submodule
        for part in path:
            if not hasattr(to, part):
                to.add_module(part, HolderModule({}))
            source, to = getattr(source, part), getattr(to, part)
        names[f"{comp_name}.{target}" if comp_name else target] = target
        setattr(to, last, getattr(source, last))
    return GraphModule(submodule, subgraph, class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same, whatever their nodes are called."""
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
