"""Matrix products with one left operand, made one."""

from __future__ import annotations

import itertools
from operator import getitem
from typing import Any

from ...core.machine import Tensor, functions
from ...nn.modules.module import Module
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node
from ..passes.tools_common import legalize_graph

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    """The parts of a product of rows that were put under each other."""
    return functions["split"](result, [x.shape[0] for x in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether `a` uses `b`, or might: what lies further away than `search_depth` is not looked at."""
    if a == b:
        return True
    if not a.all_input_nodes:
        return False
    return search_depth == 0 or any(may_depend_on(used, b, search_depth - 1) for used in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether none of them uses another."""
    return not any(may_depend_on(a, b) for a, b in itertools.permutations(nodes, 2))


def merge_matmul(in_mod: Module) -> GraphModule:
    """The module with products by one right operand computed together."""
    gm: Any = symbolic_trace(in_mod)
    by_right: dict[Node, list[Node]] = {}
    for node in gm.graph.find_nodes(op="call_function", target=functions["matmul"]):
        by_right.setdefault(node.args[1], []).append(node)
    for right, products in by_right.items():
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        rows = [node.args[0] for node in products]
        with gm.graph.inserting_before(products[0]):
            joined = gm.graph.call_function(functions["cat"], (rows,))
            product = gm.graph.call_function(functions["matmul"], (joined, right))
            parts = gm.graph.call_function(split_result_tensors, (product, rows))
            made = [gm.graph.call_function(getitem, (parts, at)) for at in range(len(rows))]
        for node, new in zip(products, made, strict=True):
            node.replace_all_uses_with(new)
            gm.graph.erase_node(node)
    legalize_graph(gm)
    gm.graph.lint()
    gm.recompile()
    return gm
