"""Replacing what nodes call, and how many bytes they take."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any
) -> None:
    """Let nodes of one kind and target be of another, with the arguments that they have."""
    made, known = Graph(), {}  # type: ignore[var-annotated]
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = (map_arg(given, lambda n: known[n]) for given in (node.args, dict(node.kwargs)))
            known[node] = made.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            known[node] = made.node_copy(node, lambda n: known[n])
    fx_module.graph = made


class size_bytes(NamedTuple):
    """The bytes of a node's result, and of it with parameters and buffers."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Write to each node how many bytes it takes, as `size_bytes`."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        vars(node)["size_bytes"] = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What `ShapeProp` wrote of a node's tensor."""
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of one node."""
    inside = 0
    if node.op == "call_module":
        module = fx_module.get_submodule(str(node.target))
        inside = sum([t.numel() * t.element_size() for t in [*module.parameters(), *module.buffers()]])
    meta = get_tensor_meta(node)
    own = meta.shape.numel() * meta.dtype.itemsize
    return size_bytes(own, own + inside)
