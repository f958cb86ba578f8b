"""Cutting a graph by what can be run elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...graph_module import GraphModule
from ...node import Node, _get_qualified_name
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions, validate_partition

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Nodes that are to be one."""

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        self.id = id
        nodes = list(nodes or ())
        orders: Iterable[int | None] = node_orders or [None] * len(nodes)
        self.nodes: dict[Node, int | None] = dict(zip(nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Put a node in, before the others."""
        self.nodes = {node: node_order, **self.nodes}

    def remove_node(self, node: Node) -> None:
        """Take a node out."""
        del self.nodes[node]

    def size(self) -> int:
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Proposes sets of supported nodes, as large as they can be without circles, and puts each into a module."""

    def __init__(
        self, graph_module: GraphModule, operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None, skip_horizontal_fusion: bool = False,
    ) -> None:  # fmt: skip
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """The sets, found from the end of the graph to its beginning."""
        found: list[Partition] = []
        number = 0
        for order, node in enumerate(reversed(self.graph_module.graph.nodes)):
            if not self._is_node_supported(node):
                continue
            mine = Partition(number, [node], [order])
            number += 1
            for other in list(found):
                near = not self.skip_horizontal_fusion or any(user in other.nodes for user in node.users)
                if near and validate_partition([*mine.nodes, *other.nodes]):
                    found.remove(other)
                    kept = other.id if other.size() > mine.size() else mine.id
                    mine = Partition(kept, [*mine.nodes, *other.nodes], [*mine.nodes.values(), *other.nodes.values()])  # type: ignore[list-item]
            found.append(mine)
        for partition in found:
            partition.nodes = dict(sorted(partition.nodes.items(), key=lambda item: -(item[1] or 0)))
        found = [p for p in found if self.allows_single_node_partition or self._computes(p)]
        return sorted(found, key=lambda p: p.id or 0)

    def _computes(self, partition: Partition) -> bool:
        """Whether it has more than one node that computes, or one that may be alone."""
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        names = [_get_qualified_name(n.target) for n in partition.nodes if callable(n.target)]
        working = [name for name in names if name not in idle]
        return len(working) > 1 or any(name in self.allowed_single_node_partition_ops for name in working)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The module with each set in a module of its own."""
        return fuse_by_partitions(self.graph_module, [list(p.nodes) for p in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take nodes that do not compute from the beginnings and the ends of sets."""
        idle = set(self.non_compute_ops)

        def computes(node: Node) -> bool:
            return not callable(node.target) or _get_qualified_name(node.target) not in idle

        for partition in partitions:
            changed = True
            while changed:
                ends = [
                    n for n in partition.nodes if not computes(n)
                    and (all(u not in partition.nodes for u in n.users)
                         or all(i not in partition.nodes for i in n.all_input_nodes))
                ]  # fmt: skip
                changed = bool(ends)
                for node in ends:
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Propose sets, and put each into a module."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
