"""The backward pass: from the roots towards the leaves, latest operation first."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Sequence
from copy import copy
from heapq import heappop, heappush, heappushpop
from operator import add, iadd
from sys import getrefcount
from typing import Any

from ..core.declare import fit_gradient
from ..core.machine import FIRST, Node, Tensor, computed, form_of, name_of
from ..core.native import native
from ..core.state import Mode, State, local, with_grad
from ..core.structs import know
from ..core.values import Backend, sparse_coo, strided
from ..core.values.dtype import dtype
from ..core.values.errors import expands
from ..core.values.size import size
from .accumulation import accumulate_into, as_tensor
from .queue_of_leaves import queued
from .tensor_hooks import run_post_accumulate_hooks, run_post_hooks, run_pre_hooks, run_tensor_hooks

_numbers = itertools.count()
_NESTED = 16  # of so many passes, each run by a node of the one before, the next gets a stack of its own


def run(
    roots: Sequence[tuple[Any, Tensor | None]], goals: Sequence[Any] | None, keep_graph: bool, create_graph: bool,
    accumulate: bool, tensors: bool = False, fresh_stack: bool = False,
) -> list[Tensor | None]:  # fmt: skip
    """Send gradients from `roots`, pairs of an edge and the gradient that enters there.

    With `goals` (edges), only what they need is run; the result is their gradients, unless `accumulate` puts those
    into the leaves' `.grad`. `tensors` says that there are nodes whose gradients cannot travel as bare arrays.
    """
    state = local.state
    outer_mode, outer_task = state.mode, state.task
    if native is not None and goals is not None and not (accumulate or tensors) and len(roots) == 1:
        edge, grad = roots[0]
        if edge.__class__ is tuple:
            found = native.gradients(edge, grad, tuple(goals), keep_graph, create_graph)
            if found is not None:
                return found
    for level in state.levels:
        level.expose([edge for edge, _ in roots])
    if outer_task is not None and outer_task.depth % _NESTED == _NESTED - 1 and not fresh_stack:
        arguments = (roots, goals, keep_graph, create_graph, accumulate, tensors, True)
        return _on_fresh_stack(functools.partial(run, *arguments), state)
    mode = with_grad(outer_mode, create_graph)
    task = GraphTask(keep_graph, create_graph, accumulate, mode, outer_task)
    if tensors:
        task.tensors = True
    try:
        try:
            state.mode, state.task = mode, task
            _run_nodes(task, roots, goals, state)
        finally:
            state.mode, state.task = outer_mode, outer_task
    finally:  # for an exception at the line above
        state.mode, state.task = outer_mode, outer_task
    return [] if goals is None else [task.captured.get(_place(edge)) for edge in goals]


def _run_nodes(task: GraphTask, roots: Any, goals: Any, state: State) -> None:
    """Run the nodes of a pass. What they raise, anomaly detection tells of."""
    anomaly = state.mode.anomaly
    try:
        task.count(roots)
        if goals is not None:
            task.aim(goals)
        task.drain(task.enter(roots), state.quiet)
        task.call_back()
    except Exception:
        if anomaly is not None:
            anomaly.tell(task)
        raise


def _task_of_pass(
    edge: Any, keep_graph: bool, create_graph: bool, goals: Sequence[Tensor] | None, wanted: Container[Any] | None
) -> GraphTask:
    """The task of a pass that the native build runs from one root; if there are goals, these are leaves."""
    task = GraphTask(bool(keep_graph), bool(create_graph), goals is None, local.state.mode, None)
    task.roots = ((edge, None),)
    if goals is not None:
        task.wanted, task.captures = wanted, {id(leaf): [0] for leaf in goals}
    return task


know(make_task=_task_of_pass)


def _on_fresh_stack(call: Callable[[], Any], state: State) -> Any:
    """What a call gives that is made in a thread of its own, which has a copy of the state of this one, that waits."""
    from concurrent.futures import ThreadPoolExecutor

    def body() -> Any:
        local.state = copy(state)
        return call()

    with ThreadPoolExecutor(1) as other:
        return other.submit(body).result()


def _target(edge: Any) -> Any:
    """The node an edge leads to; the id of a leaf."""
    return edge[0] if edge.__class__ is tuple else id(edge)


def _place(edge: Any) -> tuple[Any, int]:
    """Where an edge leads to: a node or a leaf's id, and which of its outputs."""
    return (edge[0], edge[1]) if edge.__class__ is tuple else (id(edge), 0)


class GraphTask:
    """One backward pass.

    `waiting` holds, for every node and leaf (by its id) that is still to be run, a list: how many edges lead to it
    from nodes that have not run, then two items for each of its outputs, the gradient so far and whether that is a sum
    made here, which nobody else holds. Where gradients have neither a history nor tangents, those of plain tensors
    travel as bare arrays.
    """

    __slots__ = (
        "__weakref__", "accumulate", "anomaly", "callbacks", "captured", "captures", "create_graph", "depth", "id",
        "keep_graph", "met", "node", "roots", "tensors", "waiting", "wanted",
    )  # fmt: skip

    def __init__(
        self, keep_graph: bool, create_graph: bool, accumulate: bool, mode: Mode, outer: GraphTask | None
    ) -> None:
        self.id = next(_numbers)
        self.depth: int = 0 if outer is None else outer.depth + 1  # in how many other passes it runs
        self.roots: Sequence[tuple[Any, Tensor | None]] = ()
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.accumulate = accumulate
        self.anomaly = mode.anomaly if mode.profiler is None else mode.profiler.watching(mode.anomaly)
        # Whether gradients have a history, or tangents, or a dispatch mode sees what is done to them.
        self.tensors = create_graph or bool(mode.moving) or mode.seer is not None
        self.waiting: dict[Any, list[Any]] = {}
        self.callbacks: list[Callable[[], Any]] = []
        self.node: Any = None  # the node, or leaf, whose hooks and formulas are run now
        self.captures: dict[Any, list[int]] | None = None  # of which nodes and leaves, which gradients are asked for
        self.captured: dict[tuple[Any, int], Tensor] = {}
        self.wanted: Container[Any] | None = None  # the nodes that must run, where not all must
        self.met: Container[Any] | None = None  # all nodes and leaves, if somebody asked for these

    def will_run(self, target: Any) -> bool:
        """Whether the pass runs a node (or leaf, by its id); one from one root alone does not count that."""
        if len(self.roots) == 1 and target == _target(self.roots[0][0]):
            return False
        if target.__class__ is int and self.captures is not None and target in self.captures:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        if self.wanted is None and self.met is None:
            all_of_it = GraphTask(self.keep_graph, False, True, local.state.mode, None)
            all_of_it.count(self.roots)
            self.met = all_of_it.waiting
        return self.needs(target) and (self.met is None or target in self.met)

    def needs(self, target: Any) -> bool:
        """Whether a node (or leaf, by its id) must run or is asked for."""
        return self.wanted is None or target in self.wanted or target in (self.captures or ())

    def asked(self, edges: Sequence[Any]) -> tuple[Any, ...]:
        """Of a node's edges those to what must run or is asked for, None for the others."""
        wanted, captures = self.wanted or (), self.captures or ()
        targets = [None if edge is None else _target(edge) for edge in edges]
        return tuple([edge if to in wanted or to in captures else None for edge, to in zip(edges, targets)])

    def call_back(self) -> None:
        """Make the calls that are to come last."""
        for callback in self.callbacks:  # one may add another
            callback()

    # ---- before

    def count(self, roots: Sequence[tuple[Any, Tensor | None]]) -> None:
        """Fill `waiting`: how many edges lead to each node."""
        self.roots = roots
        waiting = self.waiting
        stack: list[Any] = []
        for edge, _ in roots:
            to = _target(edge)
            if to not in waiting:
                if edge.__class__ is tuple:
                    waiting[to] = [0, *(None, False) * len(to.output_forms)]
                    stack.append(to)
                else:
                    waiting[to] = [0, None, False]
        while stack:
            for edge in stack.pop().next_edges:
                if edge.__class__ is tuple:
                    to = edge[0]
                    entry = waiting.get(to)
                    if entry is None:
                        outputs = to.output_forms
                        waiting[to] = [1, None, False] if len(outputs) == 1 else [1, *(None, False) * len(outputs)]
                        stack.append(to)
                    else:
                        entry[0] += 1
                elif edge is not None:
                    to = id(edge)
                    entry = waiting.get(to)
                    if entry is None:
                        waiting[to] = [1, None, False]
                    else:
                        entry[0] += 1

    def aim(self, goals: Sequence[Any]) -> None:
        """Leave in `waiting` only the goals, and the nodes from which one is reached."""
        before: dict[Any, list[Any]] = {}
        for node in self.waiting:
            for edge in () if node.__class__ is int else node.next_edges:
                if edge is not None:
                    before.setdefault(edge[0] if edge.__class__ is tuple else id(edge), []).append(node)
        wanted: set[Any] = set()
        stack = [_target(edge) for edge in goals]
        aims = dict.fromkeys(stack)
        while stack:
            for node in before.get(stack.pop(), ()):
                if node not in wanted:
                    wanted.add(node)
                    stack.append(node)
        if self.accumulate:
            wanted.update(aims)
        else:
            self.captures = {}
            for edge in goals:
                to, nr = _place(edge)
                self.captures.setdefault(to, []).append(nr)
        self.wanted = wanted
        self.waiting = {to: entry for to, entry in self.waiting.items() if to in wanted or to in aims}

    def enter(self, roots: Sequence[tuple[Any, Tensor | None]]) -> list[tuple[int, Any]]:
        """Put the roots' gradients in place; a heap of the nodes that are ready to run."""
        waiting = self.waiting
        ready: list[tuple[int, Any]] = []
        for edge, grad in roots:
            to, at = (edge[0], 2 * edge[1] + 1) if edge.__class__ is tuple else (id(edge), 1)
            entry = waiting.get(to)
            if entry is not None:
                bare = self.bare(grad)
                entry[at] = bare if entry[at] is None else self.total(entry[at], bare, edge)
        for edge, _ in roots:
            to = edge[0] if edge.__class__ is tuple else id(edge)
            entry = waiting.get(to)
            if entry is None or entry[0]:
                continue
            if edge.__class__ is not tuple:
                self.reach_leaf(edge, waiting.pop(to))
            elif (-to.sequence_nr, to) not in ready:  # type: ignore[union-attr]
                heappush(ready, (-to.sequence_nr, to))  # type: ignore[union-attr]
                if to.sequence_nr == FIRST:  # type: ignore[union-attr]
                    self.drain(ready, local.state.quiet)
        return ready

    # ---- on the way

    def drain(self, ready: list[tuple[int, Any]], quiet: Any) -> None:
        """Run nodes, latest first, until none is left. This loop is most of what backward costs a small model."""
        waiting, keep_graph = self.waiting, self.keep_graph
        bare = not self.tensors
        inner = self.captures is not None and not all([to.__class__ is int for to in self.captures])
        direct = bare and self.anomaly is None and not inner
        while ready:
            node = heappop(ready)[1]
            while node is not None:  # a chain of nodes needs no heap
                entry = waiting.pop(node)
                results = None
                if direct and node.node_hooks is None:
                    results = node.on_arrays(entry[1], quiet)
                if results is None:
                    results = self.apply(node, entry[1::2])
                    if results is None:
                        break
                if not keep_graph and (saved := node.saved_entries) and saved.count(None) < len(saved):
                    saved = node.saved_entries = None  # a node that has kept nothing may run again
                following, leaves, others = None, (), 0
                for edge, grad in zip(node.next_edges, results):
                    if edge.__class__ is tuple:
                        to, at = edge
                        at += at + 1
                    elif edge is not None:
                        to = id(edge)
                        at = 1
                    else:
                        continue
                    entry = waiting.get(to)  # type: ignore[assignment]
                    if entry is None:
                        continue
                    if grad is not None:
                        have = entry[at]
                        if have is None:
                            entry[at] = grad
                        elif entry[at + 1] and have.__class__ is grad.__class__:
                            quiet(iadd, have, grad)
                        else:
                            have = entry[at] = self.total(have, grad, edge)
                            alike = have.__class__ is grad.__class__ and not isinstance(have, Tensor)
                            entry[at + 1] = bare and alike and have.shape != ()
                    left = entry[0] = entry[0] - 1
                    if left:
                        continue
                    if to.__class__ is int:
                        others = others if leaves else len(ready) + (following is not None)
                        leaves = (*leaves, edge)  # type: ignore[assignment]
                    elif following is None and not ready:
                        following = to
                    else:
                        heappush(ready, (-to.sequence_nr, to))
                results = edge = grad = have = entry = to = None  # type: ignore[assignment]
                if leaves:
                    waits = len(ready) + (following is not None)
                    for edge in leaves if len(leaves) + waits < 4 else queued(leaves, others, waits - others):
                        self.reach_leaf(edge, waiting.pop(id(edge)))
                if following is not None and ready:
                    following = heappushpop(ready, (-following.sequence_nr, following))[1]
                node = following

    def apply(self, node: Node, grads: list[Any]) -> Sequence[Any] | None:
        """Run a node on tensors, with its hooks; None for one of which only the gradients are asked for."""
        self.node = node
        hooks, captures = node.node_hooks, self.captures
        for nr, form in enumerate(node.output_forms):
            grads[nr] = as_tensor(grads[nr], form)
        runs = self.wanted is None or node in self.wanted
        if hooks is not None and not runs:
            run_tensor_hooks(hooks, grads)
        if captures is not None and node in captures:
            for nr in captures[node]:
                self.captured[node, nr] = grads[nr]
        if not runs:
            return None
        if hooks is not None:
            run_tensor_hooks(hooks, grads)
            grads = run_pre_hooks(hooks, grads)
        if self.anomaly is None:
            results = node.apply(grads)
        else:
            results = self.anomaly.watch(node, grads)
        if hooks is not None:
            results = run_post_hooks(hooks, results, grads, node.unshown)
        return self.checked(node, results)

    def checked(self, node: Node, results: Sequence[Any]) -> list[Any]:
        """A node's results, each as the one who gets it wants it."""
        found: list[Any] = []
        for at, (edge, grad) in enumerate(zip(node.next_edges, results, strict=False)):
            if edge is None or grad is None:
                found.append(None)
                continue
            special = False
            if edge.__class__ is tuple:
                shape, d, backend = edge[0].output_forms[edge[1]]
            else:
                shape, d, backend = edge._array.shape, edge.dtype, edge._backend
                if edge._extra is not None:
                    wanted = edge._extra.dtype_of_grad(d)
                    special, d = wanted is not d, wanted or grad.dtype
            if grad.dtype is not d or grad._array.shape != shape:
                grad = fitted(grad, shape, d, at, node)
            if grad._backend is not backend and grad._backend.device is not backend.device:
                grad = _moved(grad, backend, at, node)
            found.append(grad if special else self.bare(grad))
        return found

    def bare(self, grad: Any) -> Any:
        if grad.__class__ is not Tensor or self.tensors:
            return grad
        backend = grad._backend
        if backend.bare:
            return grad._array
        return computed(grad)._array if backend.lazy else grad

    def total(self, a: Any, b: Any, edge: Any) -> Any:
        """The sum of two gradients for the same place."""
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            form = form_of(a if isinstance(a, Tensor) else b)
            if isinstance(a, Tensor) and a.layout is not strided:  # a dense one is added to, a sparse one is not
                a, b = b, a
            return as_tensor(a, form) + as_tensor(b, form)
        if a.strides != b.strides:  # whose sum lies as a tensor's does
            form = edge[0].output_forms[edge[1]] if edge.__class__ is tuple else form_of(edge)
            return (as_tensor(a, form) + as_tensor(b, form))._array
        total = local.state.quiet(add, a, b)
        return total if total.flags.c_contiguous else total[...]  # what lies otherwise shows it by having a base

    # ---- at the end

    def reach_leaf(self, leaf: Tensor, entry: list[Any]) -> None:
        """The gradient of a leaf is complete: run its hooks, then hand it over or accumulate it."""
        extra = leaf._extra
        if extra is None and self.captures is None:
            if entry[1] is not None:
                self.hand_over(leaf, entry)
            return
        grad, entry[1] = entry[1], None
        self.node = leaf
        grads = [as_tensor(grad, form_of(leaf))]
        grad = hooks = None
        if extra is not None:
            hooks = extra.hooks
            wanted = extra.dtype_of_grad(leaf.dtype)
            if wanted is not None and grads[0] is not None and grads[0].dtype is not wanted:
                grads[0] = grads[0].to(wanted)
        if hooks is not None:
            run_tensor_hooks(hooks, grads)
        if self.captures is not None:
            if id(leaf) in self.captures:
                self.captured[id(leaf), 0] = grads[0]
            return
        if hooks is not None:
            grads = run_pre_hooks(hooks, grads)
        if grads[0] is not None:
            entry[1] = grads.pop()
            if entry[1].dtype is leaf.dtype:
                entry[1] = self.bare(entry[1])
            self.hand_over(leaf, entry)
        if extra is not None and extra.post_hooks:
            run_post_accumulate_hooks(extra.post_hooks, leaf)
        if hooks is not None:
            run_post_hooks(hooks, (), [leaf._grad])

    def hand_over(self, leaf: Tensor, entry: list[Any]) -> None:
        """Accumulate the gradient of an entry, which holds it no longer."""
        owned = is_owned(entry)
        grad, entry[1] = entry[1], None
        accumulate_into(leaf, grad, self.create_graph, owned)


def check_given(at: int, grad: Tensor, shape: tuple[int, ...], d: dtype) -> None:
    """Refuse a gradient that the user has given for an output of another shape, or of other numbers."""
    if grad._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{at}] has a shape of {grad.shape} and output[{at}] has a shape of "
            f"{size(shape)}."
        )
    if grad.dtype.is_complex != d.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{at}] has a dtype of {grad.dtype} and output[{at}] has a dtype of {d}."
        )


def fitted(grad: Tensor, shape: tuple[int, ...], d: dtype, at: int, giver: Node | None) -> Tensor:
    """A gradient with the shape and dtype of what it is for; without a `giver`, one that the user has given."""
    have = grad._array.shape
    if have != shape and not expands(shape, have):
        who, at = ("", at) if giver is None else (f"Function {name_of(giver)} returned an ", _shown_at(giver, at))
        raise RuntimeError(
            f"{who}invalid gradient at index {at} - got {list(have)} but expected shape compatible with {list(shape)}"
        )
    return fit_gradient(grad, shape, d, real_parts=False)


def _moved(grad: Tensor, backend: Backend, at: int, giver: Node) -> Tensor:
    """A gradient from another device than that of what it is for, where only single numbers may come from."""
    if grad._array.shape:
        raise RuntimeError(
            f"Function {name_of(giver)} returned an invalid gradient at index {_shown_at(giver, at)} - expected device "
            f"{backend.device} but got {grad._backend.device}"
        )
    return grad.to(backend.device)


def _shown_at(node: Node, at: int) -> int:
    """Which one an edge is of those that a node shows."""
    return at - sum([hidden < at for hidden in node.unshown])


def is_owned(entry: list[Any]) -> bool:
    """Whether nothing else holds the gradient of an entry, and no other array shows memory that it shows."""
    if getrefcount(entry[1]) > 2:  # which is held by the call that asks, too
        return False
    if isinstance(entry[1], Tensor):  # the parts of sparse ones PyTorch lets be shown by others; copies would be seen
        freely = entry[1]._backend.handed or entry[1].layout is sparse_coo
        return freely or (local.state.mode.seer is not None and getrefcount(entry[1]._array) == 2)
    return entry[1].base is None or getrefcount(entry[1].base) == 2
