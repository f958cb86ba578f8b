"""The backward pass: from the roots towards the leaves, latest operation first."""

from __future__ import annotations

import heapq
import sys
import threading
from operator import add, iadd
from typing import TYPE_CHECKING, Any

from ..core import mode as _mode
from ..core.elementwise import fit_gradient
from ..core.node import FIRST, Node
from ..core.operands import form_of
from ..core.tensor import Tensor, wrap
from ..core.write import bump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core.dtype import dtype

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
    """The node an edge leads to; the id of a leaf."""
    return edge[0] if edge.__class__ is tuple else id(edge)


class _Task:
    """One backward pass.

    `waiting` holds, for every node and leaf (by its id) that the roots reach, a list: how many edges still lead to it
    from nodes that have not run, then two items for each of its outputs, the gradient so far and whether that is a sum
    made here, which nobody else holds. When no graph is made, gradients of plain tensors travel as bare arrays.
    """

    def __init__(self, inputs: Sequence[Any] | None, keep_graph: bool, create_graph: bool, accumulate: bool) -> None:
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.inputs = inputs
        self.waiting: dict[Any, list[Any]] = {}
        self.captured: dict[Any, Any] = {}
        self.captures = self.find_captures()
        self.wanted: set[Any] | None = None

    def run(self, roots: Sequence[tuple[Any, Tensor]]) -> list[Tensor | None]:
        waiting = self.waiting
        self.count([edge for edge, _ in roots])
        if self.captures is not None:
            self.wanted = self.needed_for(self.captures)
        for number, (edge, grad) in enumerate(roots):
            entry = waiting[_target(edge)]
            at = 2 * edge[1] + 1 if edge.__class__ is tuple else 1
            shape, d, _ = edge[0].outputs[edge[1]] if edge.__class__ is tuple else form_of(edge)
            if grad.dtype is not d or grad.array.shape != shape:
                grad = _fitted(grad, shape, d, number, None)
            grad = self.bare(grad)
            entry[at] = grad if entry[at] is None else self.total(entry[at], grad)
        ready: list[tuple[int, Any]] = []
        for edge, _ in roots:
            to = _target(edge)
            if to in waiting and not waiting[to][0]:
                if edge.__class__ is not tuple:
                    self.reach_leaf(edge, waiting.pop(to))
                elif (-to.seq, to) not in ready:
                    heapq.heappush(ready, (-to.seq, to))
                    if to.seq == FIRST:
                        self.drain(ready)
        self.drain(ready)
        if self.inputs is None:
            return []
        return [self.result(edge) for edge in self.inputs]

    def drain(self, ready: list[tuple[int, Any]]) -> None:
        """Run nodes, latest first, until none is left. This loop is most of what backward costs a small model."""
        waiting, wanted, keep_graph = self.waiting, self.wanted, self.keep_graph
        quiet = _mode.local.state.quiet
        direct = not self.create_graph and self.captures is None
        while ready:
            node = heapq.heappop(ready)[1]
            while node is not None:  # a chain of nodes needs no heap
                entry = waiting.pop(node)
                results = None
                if direct and node.hooks is None:
                    results = node.on_arrays(entry[1], quiet)
                if results is None:
                    results = self.apply(node, entry[1::2])
                if not keep_graph and node.saved:
                    node.saved = None
                following = None
                for edge, grad in zip(node.edges, results):
                    if edge is None:
                        continue
                    if edge.__class__ is tuple:
                        to, at = edge
                        at += at + 1
                    else:
                        to = id(edge)
                        at = 1
                    entry = waiting.get(to)
                    if entry is None:
                        continue
                    if grad is not None:
                        have = entry[at]
                        if have is None:
                            entry[at] = grad
                        elif entry[at + 1]:
                            quiet(iadd, have, grad)
                        else:
                            have = entry[at] = self.total(have, grad)
                            entry[at + 1] = direct and have.__class__ is grad.__class__ and have.shape != ()
                    left = entry[0] = entry[0] - 1
                    if left:
                        continue
                    if to.__class__ is int:
                        grad = have = None
                        del waiting[to]
                        self.reach_leaf(edge, entry)
                    elif wanted is not None and to not in wanted and to not in self.captures:
                        del waiting[to]
                    elif following is None and not ready:
                        following = to
                    else:
                        heapq.heappush(ready, (-to.seq, to))
                results = edge = grad = have = entry = to = None
                if following is not None and ready:
                    following = heapq.heappushpop(ready, (-following.seq, following))[1]
                node = following

    def apply(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """Run a node on tensors, with its hooks."""
        hooks, captures = node.hooks, self.captures
        for nr, form in enumerate(node.outputs):
            grads[nr] = _tensor(grads[nr], form)
        if hooks is not None:
            grads = run_tensor_hooks(hooks, grads)
        if captures is not None and node in captures:
            for nr in captures[node]:
                self.captured[node, nr] = grads[nr]
        if self.wanted is not None and node not in self.wanted:
            return [None] * len(node.edges)
        if hooks is not None:
            grads = run_pre_hooks(hooks, grads)
            keep_grads(hooks, grads)
        results = node.apply(grads)
        if hooks is not None:
            results = run_post_hooks(hooks, results, grads)
        return self.checked(node, results)

    def checked(self, node: Node, results: Sequence[Any]) -> list[Any]:
        """A node's results, each as the one who gets it wants it."""
        found: list[Any] = []
        for at, (edge, grad) in enumerate(zip(node.edges, results, strict=False)):
            if edge is None or grad is None:
                found.append(None)
                continue
            if edge.__class__ is tuple:
                shape, d = edge[0].outputs[edge[1]][:2]
            else:
                shape, d = edge.array.shape, edge.dtype
            if grad.dtype is not d or grad.array.shape != shape:
                grad = _fitted(grad, shape, d, at, node)
            found.append(self.bare(grad))
        return found

    def bare(self, grad: Tensor) -> Any:
        return grad.array if grad.__class__ is Tensor and grad.backend.strided and not self.create_graph else grad

    def total(self, a: Any, b: Any) -> Any:
        """The sum of two gradients."""
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            like = a if isinstance(a, Tensor) else b
            form = (like.array.shape, like.dtype, like.backend.real)
            return _tensor(a, form) + _tensor(b, form)
        return _mode.local.state.quiet(add, a, b)

    def count(self, roots: list[Any]) -> None:
        """Fill `waiting`: how many edges lead to each node."""
        waiting = self.waiting
        stack: list[Any] = []
        for edge in roots:
            to = _target(edge)
            if to not in waiting:
                if edge.__class__ is tuple:
                    waiting[to] = [0, *(None, False) * len(to.outputs)]
                    stack.append(to)
                else:
                    waiting[to] = [0, None, False]
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                if edge.__class__ is tuple:
                    to = edge[0]
                    entry = waiting.get(to)
                    if entry is None:
                        outputs = to.outputs
                        waiting[to] = [1, None, False] if len(outputs) == 1 else [1, *(None, False) * len(outputs)]
                        stack.append(to)
                        continue
                else:
                    to = id(edge)
                    entry = waiting.get(to)
                    if entry is None:
                        waiting[to] = [1, None, False]
                        continue
                entry[0] += 1

    def find_captures(self) -> dict[Any, list[int]] | None:
        """The outputs whose gradients are asked for, by node; None when all leaves are."""
        if self.inputs is None:
            return None
        found: dict[Any, list[int]] = {}
        for edge in self.inputs:
            found.setdefault(_target(edge), []).append(edge[1] if edge.__class__ is tuple else 0)
        return found

    def result(self, edge: Any) -> Tensor | None:
        """The captured gradient of an input."""
        if edge.__class__ is tuple:
            return self.captured.get(edge)
        return self.captured.get((id(edge), 0))

    def needed_for(self, goals: dict[Any, list[int]]) -> set[Any]:
        """The nodes that must run: those from which a goal is reached."""
        before: dict[Any, list[Any]] = {}
        for node in self.waiting:
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

    def reach_leaf(self, leaf: Tensor, entry: list[Any]) -> None:
        """The gradient of a leaf is complete: run its hooks, then hand it over or accumulate it."""
        grad, entry[1] = entry[1], None
        if grad is None:
            return
        extra, captures = leaf.extra, self.captures
        if extra is None and captures is None:
            accumulate_into(leaf, grad, self.create_graph)
            return
        grad = _tensor(grad, form_of(leaf))
        accumulator = None
        if extra is not None:
            for hook in list(extra.hooks.values()):
                changed = hook(grad)
                if changed is not None:
                    grad = changed
            accumulator = extra.accumulator() if extra.accumulator is not None else None
        if captures is not None and not self.accumulate:
            if id(leaf) in captures:
                self.captured[id(leaf), 0] = grad
            return
        if captures is not None and id(leaf) not in captures:
            return
        hooks = accumulator.hooks if accumulator is not None else None
        if hooks is not None:
            grad = run_pre_hooks(hooks, [grad])[0]
        grad = self.bare(grad)
        accumulate_into(leaf, grad, self.create_graph)
        if extra is not None:
            for hook in list(extra.post_hooks.values()):
                hook(leaf)
        if hooks is not None:
            run_post_hooks(hooks, (), [leaf._grad])


def _tensor(value: Any, form: Any) -> Any:
    """A gradient as a tensor."""
    if value is None or isinstance(value, Tensor):
        return value
    backend = form[2]
    return wrap(value if value.__class__ is backend.Array else backend.asarray(value), form[1], backend)


def _fitted(grad: Tensor, shape: tuple[int, ...], d: dtype, at: int, giver: Node | None) -> Tensor:
    """A gradient with the shape and dtype of what it is for; without a `giver`, one that the user has given."""
    have = grad.array.shape
    if have != shape and not _expands(shape, have):
        who = "" if giver is None else f"Function {giver.name()} returned an "
        raise RuntimeError(
            f"{who}invalid gradient at index {at} - got {list(have)} but expected shape compatible with {list(shape)}"
        )
    return fit_gradient(grad, shape, d, real_parts=False)


def _expands(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (b, 1) for a, b in zip(reversed(shape), reversed(to)))


def accumulate_into(leaf: Tensor, grad: Any, create_graph: bool) -> None:
    """Add to `leaf.grad`. An array that nobody else holds and that lies in memory as the leaf does is taken over."""
    with _accumulating:
        have = leaf._grad
        if isinstance(grad, Tensor):
            leaf._grad = (
                _laid_out_like(grad, leaf) if have is None else have + grad if create_graph else have.add_(grad)
            )
        elif have is not None:
            if have.__class__ is Tensor and have.dtype is leaf.dtype and have.edge is None:
                _mode.local.state.quiet(iadd, have.array, grad)
                bump(have)
            else:
                have.add_(wrap(grad, leaf.dtype, leaf.backend.real))
        else:
            t = _tensor(grad, form_of(leaf))
            # Held by the tensor just made, this frame's argument, the caller's variable and getrefcount's argument.
            sole = sys.getrefcount(grad) <= 4
            leaf._grad = t if sole and grad.strides == leaf.array.strides else _laid_out_like(t, leaf)


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
