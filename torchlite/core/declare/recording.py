"""How a call of an op is recorded for backward: a node, its edges, the tensors it keeps; and how the node runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..machine import FIRST, PLAIN, UNVERSIONED, Node, TensorBase
from ..machine.operands import NO_TENSOR, NOWHERE, described, differentiable, edge_of, form_of, tensors_in
from ..machine.saved import Hooked, SavedOutput, keep, keep_output
from ..machine.view import ask_for_histories
from ..state import local
from ..values import strided
from .declaration import Declaration
from .op_node import unpacked

if TYPE_CHECKING:
    from ..machine.tensor import Tensor
    from .declaration import Rule
    from .op_node import OpNode


class Recording(Declaration):
    """An op as what gives results their history."""

    def remember(self, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Give `results` the history and the tangents that the mode asks for."""
        mode = local.state.mode
        if mode.grad:
            self.record(values, results)
        if mode.moving:
            mode.moving[-1].follow(self, values, results)

    def record(self, values: Sequence[Any], results: Sequence[Any]) -> OpNode | None:
        """Give `results` a node, when some operand that has a derivative requires grad."""
        edges = self.edges(values)
        if edges is None:
            return None
        self.refuse_complex(values)
        return self.record_on(edges, values, results)

    def edges(self, values: Sequence[Any]) -> list[Any] | None:
        """Where the gradients of the operands go; None when no operand that has a derivative requires grad."""
        for i, _ in self.rules:
            value = values[i]
            kind = value.__class__
            if kind is tuple:
                if [t for t in value if t.__class__ not in PLAIN or t._edge is not None]:
                    break
            elif kind not in NO_TENSOR and (kind not in PLAIN or value._edge is not None):
                break
        else:
            return None
        edges: list[Any] = []
        for i, _ in self.rules:
            value = values[i]
            if value.__class__ is tuple or value.__class__ is list:
                edges.extend([edge_of(item) for item in value])
            else:
                edges.append(None if value.__class__ in PLAIN and value._edge is None else edge_of(value))
        for edge in edges:
            if edge is not None:
                return self.recordable(edges, values)
        return None

    def lacks_gradients(self, values: Sequence[Any]) -> bool:
        """Whether some operands are complex, and PyTorch has no gradient of this op for such."""
        if self.complex_gradients:
            return False
        return any([t.dtype.is_complex for i in self.operands for t in tensors_in(values[i])])

    def refuse_complex(self, values: Sequence[Any]) -> None:
        if self.lacks_gradients(values):
            raise RuntimeError(
                f"{self.signature.name} does not support automatic differentiation for outputs with complex dtype."
            )

    def recordable(self, edges: list[Any], values: Sequence[Any]) -> list[Any] | None:
        """The edges to record; None where all tensors were made in inference mode, which autograd then passes over."""
        first = values[self.operands[0]]
        if first.__class__ not in PLAIN or first._counter is UNVERSIONED:
            operands = [values[i] for i in self.operands]
            tensors = [t for value in operands for t in tensors_in(value)]
            if len(tensors) >= len(operands) and all([t._counter is UNVERSIONED for t in tensors]):
                return None
        return [None if e is NOWHERE else e for e in edges]

    def check_recordable(self, values: Sequence[Any], hooks: Sequence[Any]) -> None:
        """Raise what PyTorch says before it computes: of histories that may not be asked for, of what is not kept."""
        if not self.rules:
            ask_for_histories(values)
        edges = self.edges(values)
        if edges is not None:
            for value in self.to_keep(edges, values):
                keep(value, hooks)

    def to_keep(self, edges: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The operands that backward needs."""
        return [values[at] for is_result, at, users in self._to_save if not (is_result or self.spared(users, edges))]

    def node_class_for(self, values: Sequence[Any]) -> type[OpNode]:
        node_class = self.node_class
        for at, named in self.number_nodes:
            if values[at] is not None and not isinstance(values[at], TensorBase):
                node_class = named
        if self.node_where is not None and self.node_where[1](values):
            node_class = self.other_node or node_class
        return node_class

    def record_on(self, edges: Sequence[Any], values: Sequence[Any], results: Sequence[Any]) -> OpNode:
        node_class = self.node_class_for(values)
        through = differentiable(self, results)
        node = node_class(tuple(edges), tuple([form_of(r) for r in results[: through[-1] + 1 if through else 1]]))
        node.operand_forms = self.operand_forms(values, results, edges)
        if node_class.fails:
            node.sequence_nr = FIRST
        for nr in through:
            results[nr]._edge = (node, nr)
        self.save(node, values, results)
        return node

    def save(self, node: OpNode, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Keep what the derivatives name: all of it, as PyTorch does, but for inputs that are spared."""
        edges = node.next_edges
        stack = local.state.mode.saved_hooks
        saved: list[Any] = []
        for is_result, at, users in self._to_save:
            if is_result:
                saved.append(keep_output(results[at], at, stack))
            elif self.spared(users, edges):
                saved.append(None)
            else:
                saved.append(keep(values[at], stack))
        # What is lazy is computed when it is read, so the ways that take arrays as they are must not see it either; nor
        # what is sparse or handed over, which has none. (What is of a transform's level is settled when that ends.)
        kept: list[Any] = [
            entry[0] if entry.__class__ is tuple else entry.tensor  # type: ignore[union-attr]
            for entry in saved if entry.__class__ is tuple or entry.__class__ is SavedOutput
        ]  # fmt: skip
        odd = [b for b in [t._backend for t in kept] if b.lazy or b.handed or b.layout is not strided]
        some = saved.count(None) < len(saved)
        node.saved_entries = Hooked(saved) if some and (stack or odd) else tuple(saved)
        if self._to_note:
            node.plain_values = self.noted(values, results)

    def noted(self, values: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The plain values that the derivatives name."""
        return tuple([
            described((results if of_result else values)[at], what) if what else values[at]
            for of_result, at, what in self._to_note
        ])  # fmt: skip

    def operand_forms(self, values: Sequence[Any], results: Sequence[Any], edges: Sequence[Any]) -> Any:
        """The shape, dtype and backend of each operand, by which a node fits gradients to them."""
        return None

    def spared(self, users: tuple[int, ...], edges: Sequence[Any]) -> bool:
        """Whether an input that these derivatives name need not be kept."""
        return self.may_spare(users) and len(self.rules) == len(edges) and all([edges[user] is None for user in users])

    def may_spare(self, users: tuple[int, ...]) -> bool:
        """Whether an input that these derivatives name is spared where nobody asks for them."""
        return len(self.rules) > 1 and (len(users) == 1 or (self.frugal and users != ()))

    def backward_function(self) -> Callable[[OpNode, list[Any]], Sequence[Any]]:
        """The node's `apply`: gradients for its edges from those of its results."""
        op = self
        rules = tuple([(rule.fn, rule.sources, rule.saved) for _, rule in self.rules])
        listed = any([self.signature.params[i].sequence for i, _ in self.rules])
        together = self.joint is not None or listed  # one formula gives several edges' gradients
        named = len(self.signature.returns[: self.differentiable])  # formulas are told of the last ones too
        # As PyTorch runs them, which a mode can see: in the order of the operands' names.
        order = sorted(range(len(rules)), key=lambda at: self.signature.params[self.rules[at][0]].name)

        def apply(node: OpNode, grads: list[Any]) -> Sequence[Any]:
            saved = node.saved_entries
            if saved.__class__ is not tuple:
                saved = unpacked(node)
            g = grads[0]
            if g is None and all(other is None for other in grads):
                return [None] * len(node.next_edges)
            asked = asked_of(node, listed)
            edges = (next((e for e in asked if e is not None), None),) if together else asked
            count = len(saved)
            calls: list[Any] = []  # all that was kept is read, once, before anything is computed
            read: dict[int, Any] = {}
            for (fn, sources, kept), edge in zip(rules, edges):
                if edge is None:
                    for s in kept:  # what was kept must not be stale, needed or not
                        node.read(saved[s])
                    calls.append(None)
                    continue
                arguments = []
                for s in sources:
                    if s == -1:
                        arguments.append(g)
                    elif s >= count:
                        arguments.append(node.plain_values[s - count])
                    elif s >= 0:
                        entry = saved[s]
                        if entry.__class__ is tuple:
                            tensor, version = entry
                            counter = tensor._counter
                            if counter is None or counter.n == version:
                                arguments.append(tensor)
                                continue
                        if s not in read:
                            read[s] = node.read(entry)
                        arguments.append(read[s])
                    else:
                        of_all = [*grads, *[None] * (named - len(grads))]
                        arguments.append(of_all if s == -2 else tuple([e is not None for e in asked]))
                calls.append((fn, arguments if op.regard is None else op.regard(node, arguments, sources)))
            if together:
                call = calls[0]
                return op.fit(node, [None] * len(node.next_edges) if call is None else call[0](*call[1]))
            results: list[Any] = [None] * len(calls)
            for at in order:
                call = calls[at]
                if call is not None:
                    results[at] = call[0](*call[1])
            return op.fit(node, results)

        return apply

    def evaluate(self, rule: Rule, g: Tensor, values: Sequence[Any], results: Sequence[Any]) -> Any:
        """A derivative of a call with these arguments and results, for an only gradient, when nothing was saved."""
        count, arguments = len(self.saved_names), []
        for s in rule.sources:
            if s >= count:
                of_result, at, what = self._to_note[s - count]
                value = (results if of_result else values)[at]
                arguments.append(described(value, what) if what else value)
            elif s >= 0:
                of_result, at, _ = self._to_save[s]
                arguments.append((results if of_result else values)[at])
            else:
                arguments.append((g, [g], tuple([r is rule for _, r in self.rules]))[~s])
        return rule.fn(*arguments)

    # What makes of a formula's arguments, and where they come from, those that it is called with.
    regard: Callable[[OpNode, list[Any], Sequence[int]], list[Any]] | None = None

    def fit(self, node: OpNode, grads: Sequence[Any]) -> Sequence[Any]:
        """Gradients as the operands need them."""
        return grads


def asked_of(node: OpNode, listed: bool) -> Sequence[Any]:
    """A node's edges, with None for those that the pass in which it runs asks nothing of; of a list all or none."""
    edges, task = node.next_edges, local.state.task
    if task is None or task.wanted is None:
        return edges
    running = task.node
    if running is not node and not (isinstance(running, Node) and running.runs(node)):
        return edges
    asked: Sequence[Any] = task.asked(running.next_edges)
    return edges if listed and any([edge is not None for edge in asked]) else asked
