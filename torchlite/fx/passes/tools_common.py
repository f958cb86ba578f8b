"""What splitting and lowering of graphs have in common."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

from ...core.machine import Tensor
from ...nn.modules.module import Module
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

Tensors = tuple[Tensor] | list[Tensor]
TensorOrTensors = Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """The name of a type or of a function's path, for tables of what an accelerator has."""
    if isinstance(k, str):
        return k
    home = k.__module__
    if "acc_ops" in home:
        return f"acc_ops.{k.__name__}"
    return f"{home.replace('torch._ops', 'torch.ops')}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls: the type of a module, the path of a function, the name of a method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[str(node.target)]
        kind = type(getattr(module, "_base_class_origin", module))
        return get_acc_ops_name(kind)
    if node.op == "call_function":
        return _get_qualified_name(node.target) if callable(node.target) else str(node.target)
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node, after `ShapeProp`, gives a tensor."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def _sorted_graph(gm: GraphModule, places: dict[Node, int]) -> GraphModule:
    """The module with nodes after those that they take from, otherwise by their places."""
    left = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = [(places[node], node) for node, wanted in left.items() if not wanted]
    heapq.heapify(ready)
    made, known = Graph(), {}  # type: ignore[var-annotated]
    while ready:
        _, node = heapq.heappop(ready)
        known[node] = made.node_copy(node, lambda n: known[n])
        for user in node.users:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (places[user], user))
    if len(known) < len(left):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n, wanted in left.items() if wanted]}")
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The module with its nodes in an order in which they can run."""
    return _sorted_graph(gm, {node: at for at, node in enumerate(gm.graph.nodes)})


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The same, nodes being moved no further than they must."""
    return legalize_graph(gm)
