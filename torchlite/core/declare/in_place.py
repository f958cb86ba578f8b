"""The in-place form of an op: its result, written into the first operand, whose history goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..machine import TensorBase, tensors_in
from ..machine.plan import filler, places
from ..machine.saved import SavedOutput, SavedWrite, announce_write, check_keepable
from ..machine.tangent import hold
from ..machine.view import View, check_writable, follow_bases, requires_grad, resolve, set_history
from ..machine.write import check_apart, check_fits, check_no_overlap, check_own, overlaps, warn_of_overlap, write
from ..state import Mode, State, local, silent
from ..values import dt
from .recording import Recording

if TYPE_CHECKING:
    from ..machine.tensor import Tensor
    from .op_node import OpNode


def as_now(value: Any, target: Tensor) -> Any:
    """An operand that shares its writes with `target`, as it is before the next one."""
    if not isinstance(value, TensorBase) or not (
        value is target or (value._counter is not None and value._counter is target._counter)
    ):
        return value
    twin = value._alias()
    twin._edge, twin._array, twin._counter = resolve(value), value._backend.real.copy(value._array), None
    return twin


def _kept(t: Tensor) -> Any:
    """A copy of a tensor's memory from before a write, for what is kept of it."""
    state = local.state
    if state.mode.seer is None:
        return t._backend.real.copy(t._array)
    return state.within(silent(state.mode), lambda: t.clone()._array)  # which modes see


class InPlace(Recording):
    """An op as what writes its result into an operand."""

    if TYPE_CHECKING:

        def as_step(self, values: Sequence[Any]) -> tuple[Callable[..., Any], Sequence[Any]]: ...

    def apply_in_place(self, values: list[Any]) -> Tensor:
        """Compute the result, write it into the first operand, and make the op the last step of its history."""
        state = local.state
        self_: Tensor = values[0]
        if state.adopted:
            follow_bases([t for value in values for t in tensors_in(value)])
        if state.mode.marks and state.levels:
            check_own(self, self_)
        backend = self_._backend
        recording = False
        recorded = [i for i, _ in self.rules] if state.mode.grad else ()
        for i, value in enumerate(values[1:], 1):
            for t in tensors_in(value):
                recording = recording or (i in recorded and requires_grad(t))
                if t._backend.level > backend.level:
                    backend = t._backend
        if backend is not self_._backend:
            backend.adopt(self_)
        grad = state.mode.grad and bool(self.rules)
        if grad:
            copied = self.moves and self_.dtype.category < dt.FLOAT  # which leaves no history
            check_writable(self_, recording and not copied)
        before = self_._alias()
        edges = None
        if grad and self_.dtype.category >= dt.FLOAT and (recording or requires_grad(self_)):
            before._edge = resolve(self_)
            edges = self.edges((before, *values[1:]))  # PyTorch asks for histories first, and some may not be asked for
            for value in () if edges is None else self.to_keep(edges, [None, *values[1:]]):
                check_keepable(value)  # before anything else is refused
        self.check_memory(self_, values[1:])
        if state.mode.saved_hooks:
            announce_write(self_, state.mode.saved_hooks)
        moving = state.mode.moving
        if moving:
            hold(before, values)
        if edges is not None:
            self.refuse_complex((before, *values[1:]))
            if state.mode.saved_hooks:  # which see operands as they are before the write
                values = [self_, *[as_now(v, self_) for v in values[1:]]]
            name = self.signature.params[self.rules[0][0]].name
            if any(name in rule.names and requires_grad(t) for i, rule in self.rules for t in tensors_in(values[i])):
                before._array = _kept(self_)
                before._counter = None
        if backend.level:
            backend.overwrite(self, self_, before, values)
        elif state.mode.seer is not None:
            state.mode.seer.write(self, values)
        else:
            state.within(silent(state.mode), self.overwrite, self_, before, values)
        node = None if edges is None else self.record_in_place(edges, self_, before, values)
        if moving:
            moving[-1].follow_in_place(self, self_, before, values, node)
        return self_

    def check_memory(self, target: Tensor, values: Sequence[Any]) -> None:
        """Refuse to write to one place several times, or to what is still to be read."""
        if self.check_in_place is not None:
            self.check_in_place(target, *values)
        lazy = target._backend.lazy  # such a target is a copy, until that is written back
        if self.warns is not None and not lazy and overlaps(target._array):
            for name, indexing in self.warns(target, *values).items():
                warn_of_overlap(name, indexing)
        if not (self.repeats or lazy):
            check_no_overlap(target._array)
        whole = self.exclusive if isinstance(self.exclusive, bool) else self.exclusive(target, *values)
        for value in values if self.reads is None else self.reads(target, *values):
            for other in tensors_in(value):
                check_apart(target, other, whole)

    def check_written_back(self, target: Tensor) -> None:
        """Refuse to write what was computed of a lazy tensor to one place several times."""
        check_no_overlap(target._array)

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        """Put the result into `self_`; `before` is what it was."""
        result = self.apply(before, *values[1:])
        check_fits(self_, result)
        write(self_, result)

    def overwrite_inside(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        """The same where `self_` is made of other tensors."""
        InPlace.overwrite(self, self_, before, values)

    def record_in_place(self, edges: Sequence[Any], self_: Tensor, before: Tensor, values: list[Any]) -> OpNode:
        node = self.record_on(edges, (before, *values[1:]), (self_._alias(),))
        counter = self_._counter
        node.saved_entries = type(node.saved_entries)([
            (entry[0], entry[1] - 1) if entry.__class__ is tuple and entry[0]._counter is counter else entry
            for entry in node.saved_entries  # operands over the memory just written to were read before that
        ])  # fmt: skip
        set_history(self_, node)
        if self_._edge.__class__ is View and not (self_._backend.level or local.state.mode.moving):
            node.saved_entries = type(node.saved_entries)([
                SavedWrite(entry, self_) if entry.__class__ is SavedOutput else entry for entry in node.saved_entries
            ])  # fmt: skip
        return node

    @property
    def in_place_by_form(self) -> bool:
        """Whether calls of the in-place form are alike where their forms are."""
        return self.by_form

    def plan_in_place(self, values: Sequence[Any], tensors: list[Tensor]) -> Callable[..., Any] | None:
        """The plan of calls of the in-place form where nothing is recorded (core/machine/plan.py)."""
        at = places(values, tensors)
        if at is None or tensors[0] is not values[0] or overlaps(values[0]._array):
            return None
        bound, several = filler(values, at, len(tensors)), len(tensors) > 1

        def run(state: State, mode: Mode, tensors: list[Tensor]) -> Tensor:
            target, values = tensors[0], bound(tensors)
            if mode.grad and any([t._edge is not None for t in tensors]):
                return self.apply_in_place(values)
            if several:
                self.check_memory(target, values[1:])
            self.overwrite(target, target, values)
            return target

        run.native = self.native_in_place(values, tensors, at)  # type: ignore[attr-defined]
        return run

    def native_in_place(self, values: Sequence[Any], tensors: list[Tensor], at: Any) -> tuple[Any, ...] | None:
        """What the native build writes into the first tensor, as data; None where it leaves that to Python."""
        if "overwrite" in vars(self) or any([which.__class__ is not int for _, which in at]):
            return None
        target, (call, values) = values[0], self.as_step(values)
        made = call(*values)
        if made.dtype is not target.dtype or made._array.shape != target._array.shape:
            return None
        template = filler(values, at, len(tensors))([None] * len(tensors))
        return ((call, tuple(template), tuple(at)),), len(tensors)


class InPlaceForm(NamedTuple):
    """An op in its in-place form, as what makes plans of its calls."""

    op: InPlace

    def plan(self, values: Sequence[Any], tensors: list[Tensor], results: Any) -> Any:
        return self.op.plan_in_place(values, tensors)
