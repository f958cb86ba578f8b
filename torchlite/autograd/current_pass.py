"""Questions about the backward pass that this thread is in."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from ..core.machine import AccumulateGrad, Node, accumulator_of
from ..core.state import local
from .backward import _edge
from .engine import _target

if TYPE_CHECKING:
    from .backward import GradientEdge


def _current_graph_task_id() -> int:
    """The number of the pass; -1 outside of one."""
    task = local.state.task
    return -1 if task is None else task.id


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the pass keeps its graph; True outside of one."""
    task = local.state.task
    return True if task is None else task.keep_graph


def _is_checkpoint_valid() -> bool:
    """Whether the pass reaches all leaves, as a checkpointed region's own pass has to; True outside of one."""
    task = local.state.task
    return task is None or task.wanted is None


def _current_autograd_node() -> Node | None:
    """The node whose hooks or formulas are being run."""
    task = local.state.task
    return None if task is None or task.node is None else _node(task.node)


def _will_engine_execute_node(node: Node | GradientEdge) -> bool:
    """Whether the pass runs a node, or asks for its gradients."""
    task = local.state.task
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if isinstance(node, Node):
        return task.will_run(id(node.variable) if isinstance(node, AccumulateGrad) else node)
    return task.will_run(_target(_edge(node)))


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes that the pass runs, in the order in which it does."""
    task = local.state.task
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if local.state.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return _in_order([_node(edge[0] if edge.__class__ is tuple else edge) for edge, _ in task.roots], task.needs)


def _in_order(roots: list[Node], needs: Callable[[Any], bool]) -> list[Node]:
    coming: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(coming)
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None:
                if node not in coming:
                    coming[node] = 0
                    stack.append(node)
                coming[node] += 1
    ready: list[tuple[int, Node]] = []
    for node in roots:
        if not coming[node] and (-node.sequence_nr, node) not in ready:
            heappush(ready, (-node.sequence_nr, node))
    found: list[Node] = []
    while ready:
        node = heappop(ready)[1]
        if needs(id(node.variable) if isinstance(node, AccumulateGrad) else node):
            found.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                coming[following] -= 1
                if not coming[following]:
                    heappush(ready, (-following.sequence_nr, following))
    return found


def _node(place: Any) -> Node:
    """A node; the AccumulateGrad of a leaf."""
    return place if isinstance(place, Node) else accumulator_of(place)
