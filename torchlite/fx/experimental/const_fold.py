"""What does not depend on arguments is computed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import getitem
from typing import Any

from ...core.machine import Tensor
from ...nn.modules.container import ParameterList
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module that runs its constant part before it is first called, and keeps what that gives."""

    def __init__(
        self, root: Any, graph: Graph, const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None, device_for_folded_attrs: str = "cuda",
    ) -> None:  # fmt: skip
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args)

    def run_folding(self) -> None:
        """Run the constant part."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        made = self.const_subgraph_module()

        def kept(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return Parameter(value.detach(), requires_grad=value.requires_grad)

        name = self.fx_const_folded_attrs_name
        setattr(self, name, ParameterList([kept(v) for v in made]) if isinstance(made, tuple) else kept(made))


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """A name like this one that no attribute has."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        base, _, number = name.rpartition("_")
        name = f"{base}_{int(number) + 1}" if base and number.isdigit() else f"{name}_1"
    return name


def split_const_subgraphs(
    module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None, device_for_folded_attrs: str = "cpu"
) -> FoldedGraphModule:
    """The module with what does not depend on its arguments in a part of its own."""
    gm: Any = module if isinstance(module, GraphModule) else symbolic_trace(module)
    const: set[Node] = set()
    for node in gm.graph.nodes:
        skipped = skip_folding_node_fn is not None and skip_folding_node_fn(node)
        idle = node.op in ("placeholder", "output") or node.is_impure() or skipped
        if not idle and all(used in const for used in node.all_input_nodes) and (node.op == "get_attr" or node.args):
            const.add(node)
    folded = [n for n in gm.graph.nodes if n in const and n.op != "get_attr"]
    if not folded:
        return FoldedGraphModule(gm, gm.graph)
    name = get_unique_attr_name_in_module(gm, "_FX_CONST_FOLDED_ATTRS")
    given = [n for n in folded if any(user not in const for user in n.users)]
    inner = _constant_part(folded, given)
    setattr(gm, name, None)
    return FoldedGraphModule(gm, _rest(gm, const, given, name), inner, name, device_for_folded_attrs)


def _constant_part(folded: list[Node], given: list[Node]) -> Graph:
    """The graph of what is computed once."""
    graph, known = Graph(), {}
    for used in dict.fromkeys([u for n in folded for u in n.all_input_nodes if u.op == "get_attr"]):
        known[used] = graph.create_node("get_attr", used.target, name=f"{used.name}_1")
    for node in folded:
        known[node] = graph.node_copy(node, lambda n: known[n])
    results = tuple([known[n] for n in given])
    graph.output(results[0] if len(results) == 1 else results)
    return graph


def _rest(gm: GraphModule, const: set[Node], given: list[Node], name: str) -> Graph:
    """The graph that reads what was computed."""
    graph, known = Graph(), {}
    for node in gm.graph.nodes:
        read = node.op == "get_attr" and any(user not in const for user in node.users)
        if node.op == "placeholder" or read:
            known[node] = graph.node_copy(node)
    made = graph.get_attr(name)
    for at, node in enumerate(given):
        known[node] = made if len(given) == 1 else graph.call_function(getitem, (made, at))
    for node in gm.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], lambda n: known[n]), node.type)
        elif node not in known and node not in const:
            known[node] = graph.node_copy(node, lambda n: known[n])
    return graph
