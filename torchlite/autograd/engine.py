"""The backward pass: from the roots towards the leaves, latest operation first."""

from __future__ import annotations

import heapq
import sys
import threading
from typing import TYPE_CHECKING, Any

from ..core import mode as _mode
from ..core.node import Node
from ..core.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

_accumulating = threading.Lock()


def run(
    roots: Sequence[tuple[Any, Tensor]],
    inputs: Sequence[Any] | None,
    keep_graph: bool,
    create_graph: bool,
    accumulate: bool,
) -> list[Tensor | None]:
    """Send gradients from `roots`, pairs of an edge and the gradient that enters there.

    With `inputs` (edges), only what they need is run; the result is their gradients, unless `accumulate` puts those
    into the leaves' `.grad`.
    """
    state = _mode.local.state
    outer = state.mode
    state.mode = _mode.with_grad(outer, create_graph)
    try:
        return _Task(inputs, keep_graph, create_graph, accumulate).run(roots)
    finally:
        state.mode = outer


def _target(edge: Any) -> Any:
    """The node an edge leads to; a leaf stands for itself."""
    return edge[0] if edge.__class__ is tuple else edge


class _Task:
    """One backward pass."""

    def __init__(self, inputs: Sequence[Any] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.inputs = inputs
        self.buffers: dict[Any, list[Any]] = {}
        self.owned: set[int] = set()  # ids of gradients summed here, which nobody else holds
        self.captured: dict[Any, Tensor] = {}

    def run(self, roots: Sequence[tuple[Any, Tensor]]) -> list[Tensor | None]:
        starts = {_target(edge) for edge, _ in roots}
        pending = self.count(starts)
        wanted = None if self.inputs is None else self.needed_for(starts | pending.keys())
        captures: dict[Any, list[int]] = {}
        for edge in self.inputs or ():
            if edge.__class__ is tuple:
                captures.setdefault(edge[0], []).append(edge[1])
            else:
                captures.setdefault(edge, []).append(0)
        ready: list[tuple[int, int, Any]] = []
        order = 0
        for edge, grad in roots:
            self.send(edge, grad)
        for target in self.buffers:
            if not pending.get(target):
                order += 1
                heapq.heappush(ready, (_priority(target), order, target))
        buffers = self.buffers
        while ready:
            target = heapq.heappop(ready)[2]
            grads = buffers.pop(target)
            if target.__class__ is not Tensor and isinstance(target, Node):
                hooks = target.hooks
                if hooks is not None:
                    grads = run_tensor_hooks(hooks, grads)
                if target in captures:
                    for nr in captures[target]:
                        self.captured[target, nr] = grads[nr]
                if wanted is not None and target not in wanted:
                    results: Sequence[Any] = ()
                else:
                    if hooks is not None:
                        grads = run_pre_hooks(hooks, grads)
                        keep_grads(hooks, grads)
                    results = target.apply(grads)
                    if hooks is not None and hooks.post:
                        results = run_post_hooks(hooks, results, grads)
                    if not self.keep_graph:
                        target.release()
            else:
                self.reach_leaf(target, grads, captures)
                grads = None
                continue
            grads = None
            for at, edge in enumerate(target.edges):
                if edge is None:
                    continue
                to = edge[0] if edge.__class__ is tuple else edge
                if at < len(results) and results[at] is not None:
                    self.send(edge, results[at])
                left = pending[to] = pending[to] - 1
                if not left and (wanted is None or to in wanted or to in captures):
                    if to not in buffers:
                        if not isinstance(to, Node):
                            continue
                        buffers[to] = [None] * len(to.outputs)
                    order += 1
                    heapq.heappush(ready, (_priority(to), order, to))
            results = ()
        if self.inputs is None:
            return []
        return [
            self.captured.get(edge if edge.__class__ is tuple else (edge, 0)) for edge in self.inputs
        ]

    def count(self, starts: set[Any]) -> dict[Any, int]:
        """How many edges lead to each node that the roots reach."""
        pending: dict[Any, int] = {}
        seen = set(starts)
        stack = [s for s in seen if isinstance(s, Node)]
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                if edge.__class__ is tuple:
                    to = edge[0]
                    if to not in seen:
                        seen.add(to)
                        stack.append(to)
                else:
                    to = edge
                pending[to] = pending.get(to, 0) + 1
        return pending

    def needed_for(self, reached: set[Any]) -> set[Any]:
        """The nodes that must run: those from which an input is reached."""
        assert self.inputs is not None
        goals = {_target(edge) for edge in self.inputs}
        before: dict[Any, list[Any]] = {}
        for node in reached:
            for edge in node.edges if isinstance(node, Node) else ():
                if edge is not None:
                    before.setdefault(_target(edge), []).append(node)
        wanted: set[Any] = set()
        stack = list(goals)
        while stack:
            for node in before.get(stack.pop(), ()):
                if node not in wanted:
                    wanted.add(node)
                    stack.append(node)
        return wanted

    def send(self, edge: Any, grad: Tensor) -> None:
        """Add a gradient to what waits for the node at `edge`."""
        if edge.__class__ is tuple:
            target, nr = edge
        else:
            target, nr = edge, 0
        buffer = self.buffers.get(target)
        if buffer is None:
            buffer = self.buffers[target] = [None] * (len(target.outputs) if isinstance(target, Node) else 1)
        have = buffer[nr]
        if have is None:
            buffer[nr] = grad
        elif id(have) in self.owned and not self.create_graph:
            have.add_(grad)
        else:
            total = buffer[nr] = have + grad
            self.owned.add(id(total))

    def reach_leaf(self, leaf: Tensor, grads: list[Any], captures: dict[Any, list[int]]) -> None:
        grad = grads[0]
        grads.clear()
        extra = leaf.extra
        if grad is None:
            return
        if extra is not None:
            for hook in list(extra.hooks.values()):
                changed = hook(grad)
                if changed is not None:
                    grad = changed
        if leaf in captures and not self.accumulate:
            self.captured[leaf, 0] = grad
            return
        accumulator = extra.accumulator() if extra is not None and extra.accumulator is not None else None
        if accumulator is not None and accumulator.hooks is not None:
            grad = run_pre_hooks(accumulator.hooks, [grad])[0]
        accumulate_into(leaf, grad, self.create_graph)
        del grad
        if extra is not None:
            for hook in list(extra.post_hooks.values()):
                hook(leaf)
        if accumulator is not None and accumulator.hooks is not None:
            run_post_hooks(accumulator.hooks, (), [leaf._grad])


def _priority(target: Any) -> int:
    return -target.seq if isinstance(target, Node) else -(1 << 62)


def accumulate_into(leaf: Tensor, grad: Tensor, create_graph: bool) -> None:
    """Add to `leaf.grad`. A gradient that nobody else holds and that lies in memory as the leaf does is taken over."""
    with _accumulating:
        have = leaf._grad
        if have is None:
            # Held by this frame's argument, the caller's variable and getrefcount's own argument.
            sole = sys.getrefcount(grad) <= 3
            if not create_graph and sole and grad.array.strides == leaf.array.strides:
                leaf._grad = grad.detach()
            else:
                leaf._grad = _laid_out_like(grad, leaf)
        elif create_graph:
            leaf._grad = have + grad
        else:
            have.add_(grad)


def _laid_out_like(grad: Tensor, leaf: Tensor) -> Tensor:
    if grad.array.strides == leaf.array.strides:
        return grad.clone()
    copy = leaf.new_empty_strided(tuple(leaf.array.shape), leaf.stride())
    copy.copy_(grad)
    return copy


def run_tensor_hooks(hooks: Any, grads: list[Any]) -> list[Any]:
    for nr, by_id in hooks.tensor_pre.items():
        for hook in list(by_id.values()):
            if grads[nr] is not None:
                changed = hook(grads[nr])
                if changed is not None:
                    grads[nr] = changed
    return grads


def run_pre_hooks(hooks: Any, grads: list[Any]) -> list[Any]:
    for hook in list(hooks.pre.values()):
        changed = hook(tuple(grads))
        if changed is not None:
            grads = list(changed)
    return grads


def keep_grads(hooks: Any, grads: list[Any]) -> None:
    for nr, reference in hooks.retain.items():
        tensor = reference()
        if tensor is not None and grads[nr] is not None:
            tensor._grad = grads[nr] if tensor._grad is None else tensor._grad + grads[nr]


def run_post_hooks(hooks: Any, results: Sequence[Any], grads: Sequence[Any]) -> Sequence[Any]:
    for hook in list(hooks.post.values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results = changed
    return results
