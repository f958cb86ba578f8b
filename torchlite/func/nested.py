"""Reverse differentiation: a level whose tensors hold one tensor each, and record a graph of their own.

The tensors inside have histories of theirs, on the levels below: so `grad` nests in itself and in all else. What is
recorded outlives the level. Backward through it runs after the level has ended, when its tensors count as the tensors
inside; the gradients are then tensors of the level below, with a history there.

Where the tensors inside have no history of their own, as with an outermost `grad` of plain tensors, ops run and are
recorded on *twins*: plain tensors over the same memory, whose history is that of the level. So they take the fast
paths, recording included, and backward finds what it would find of an ordinary function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.declare import Op, ViewOp
from ..core.machine import (
    LEAF,
    PLAIN,
    UNVERSIONED,
    Tensor,
    TensorBase,
    bump,
    dated,
    last_edge,
    requires_grad,
    resolve,
    tensors_in,
    wrap,
)
from ..core.machine.recipe import Bound, Record, recorder
from ..core.state import GRAD, Mode, State, local, with_grad
from ..core.structs import NestedParts, know, whole
from ..core.values import dt
from .settle import unsettle
from .transform import Level, Lifted, Transform


@whole
class Nested(NestedParts, Lifted):
    """A tensor as one of the level above; of it, or of its twin, the other one is made when it is asked for."""

    __slots__ = ()

    def __init__(self, inside: Tensor | None, twin: Tensor | None = None) -> None:
        self._main = inside
        self.twin = twin
        self.shape = (twin if inside is None else inside)._array.shape  # type: ignore[union-attr]

    mark = "grad"

    def over(self, inside: Tensor) -> Nested:
        """The same of another tensor."""
        return Nested(inside)

    @property
    def main(self) -> Tensor:  # type: ignore[override]
        if self._main is None:
            self._main = self.twin._alias()  # type: ignore[union-attr]
        return self._main

    @property
    def steps(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.main.stride()


class NestedLevel(Level):
    """One run of `grad` or `vjp`.

    Inside, operations are recorded whatever mode the transform is called in. That mode decides about the levels below.
    """

    no_hooks = (
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your "
        "use case."
    )

    def __init__(self, always: bool = False) -> None:
        super().__init__(NestedBackend)
        self.always = always

    @property
    def plans(self) -> bool:  # type: ignore[override]
        return self.depth > 1 and not self.always  # the outermost has twins

    def mode_inside(self, mode: Mode) -> Mode:
        return with_grad(super().mode_inside(mode), True)

    def leaf(self, t: Tensor) -> Tensor:
        """A tensor from below as an input whose gradient is asked for."""
        if t.dtype.category < dt.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        made = self.wrap(Nested(t))
        made._edge = LEAF
        if self.depth == 1 and may_have_twin(t):
            twin = made._array.twin = made._edge = t._alias()  # the leaf that it stands for
            twin._edge = LEAF
        return made

    def steps(self, op: Op, values: Sequence[Any], insides: Sequence[Tensor]) -> Sequence[Any] | None:
        if any([tensors_in(v) for v in values if not isinstance(v, TensorBase)]):  # in a sequence
            return None
        return [(op, [self.inside(v) for v in values])]

    def run_inside(self, state: State, run: Any, insides: Sequence[Tensor]) -> Tensor:
        if self.outer.grad or not state.mode.grad:
            return super().run_inside(state, run, insides)
        return state.within(with_grad(state.mode, False), super().run_inside, state, run, insides)

    def above(self, inside: Tensor) -> Tensor:
        return self.wrap(Nested(inside))

    def recorder(self, op: Op, values: Sequence[Any], operands: Any, tensors: Any, result: Tensor) -> Record | None:
        def general(tensors: Sequence[Tensor], bound: Bound, result: Tensor) -> None:
            result._backend.record(op, bound(tensors), (result,))

        return recorder(op, values, operands, tensors, result, general) if op.rules else None

    def expose(self, edges: Sequence[Any]) -> None:
        if self.has_twins:
            unsettle(self, edges)


know(Nested=Nested, NestedLevel=NestedLevel)


def may_have_twin(t: Any) -> bool:
    """Whether a tensor from below is plain, and has no history there."""
    return t.__class__ in PLAIN and t._backend.bare and t._counter is not UNVERSIONED and not requires_grad(t)


def is_fresh(result: Any) -> bool:
    """Whether a result is no operand, nor a view of one."""
    return not isinstance(result, TensorBase) or result._edge is None or result._edge.__class__ is tuple


class NestedBackend(Transform):
    Array = Nested
    owner: NestedLevel

    def run(self, op: Op, values: Sequence[Any]) -> Any:
        state = local.state
        mode: Any = state.mode.beneath
        plain = mode is not None and self.owner.depth == 1 and self.owner.running and not state.adopted
        twins = self.as_twins(values) if plain else None
        if twins is None:
            return super().run(op, values)
        made = state.within(GRAD if self.owner.always else mode, op.flat, *twins)
        if isinstance(op, ViewOp):  # what is written to views reaches the bases of those inside
            inside = state.within(mode, self.below, op.flat, *self.insides(values))
            several = isinstance(made, tuple)
            return tuple(map(self.above_view, made, inside)) if several else self.above_view(made, inside)
        if not isinstance(made, tuple):
            return self.above_twin(made) if is_fresh(made) else super().run(op, values)
        return tuple(map(self.above_twin, made)) if all(map(is_fresh, made)) else super().run(op, values)

    def as_twins(self, values: Sequence[Any]) -> list[Any] | None:
        """Arguments as the fast paths take them, with the level's history; None where one of them has its own."""
        found = []
        for v in values:
            if v.__class__ in PLAIN:
                v = self.as_twin(v)
                if v is None:
                    return None
            elif v.__class__ is tuple or v.__class__ is list:
                items = self.as_twins(v)
                if items is None:
                    return None
                v = v.__class__(items)
            elif isinstance(v, TensorBase):
                return None
            found.append(v)
        return found

    def as_twin(self, t: Tensor) -> Tensor | None:
        if t._backend.level != self.level:
            return t if may_have_twin(t) else None
        array, edge = t._array, resolve(t)
        twin = array.twin
        if twin is not None and (twin._edge is edge or twin is edge):
            return twin
        main = array.main
        if not may_have_twin(main):
            return None
        if edge is None:
            return None if requires_grad(t) else main
        twin = array.twin = main._alias()
        twin._edge = edge
        return twin

    def above_twin(self, twin: Any) -> Any:
        """A result of this level for one that was found by twins."""
        if not isinstance(twin, TensorBase):
            return twin
        return self.own_of(Nested(twin) if twin._edge is None else Nested(None, twin), twin, twin._edge)

    def above_view(self, twin: Tensor, inside: Tensor) -> Tensor:
        edge = twin._edge = last_edge(twin)  # it is the view of this level that follows its base
        return self.own_of(Nested(inside, twin if edge.__class__ is tuple else None), inside, edge)

    def own_of(self, array: Nested, like: Tensor, edge: Any) -> Tensor:
        owner = self.owner
        owner.has_twins = True
        t = wrap(array, like.dtype, owner.over(like._backend.real))
        t._edge = edge
        return t if local.state.levels[-1] is owner else dated(t)

    def compute(self, op: Op, values: Sequence[Any]) -> Any:
        results = self.below(op.flat, *self.insides(values))
        return tuple(map(self.above, results)) if isinstance(results, tuple) else self.above(results)

    def compute_function(self, function: Any, inputs: tuple[Any, ...], below: tuple[Any, ...]) -> Any:
        state = local.state
        # Not as it is in here.
        output = state.within(with_grad(state.mode, self.owner.outer.grad), function.apply, *below)
        given = {id(b): v for b, v in zip(below, inputs, strict=True)}  # among the results if it was written to

        def above(result: Any) -> Any:
            return given[id(result)] if id(result) in given else self.above(result)

        return tuple(map(above, output)) if isinstance(output, tuple) else above(output)

    def above(self, result: Any) -> Any:
        return self.owner.wrap(Nested(result)) if isinstance(result, TensorBase) else result

    def below(self, f: Callable[..., Any], *args: Any) -> Any:
        """Call `f` on tensors inside. These have histories only if the transform was called where they are made."""
        state = local.state
        mode = state.mode
        if self.owner.outer.grad or not mode.grad:
            return f(*args)
        return state.within(with_grad(mode, False), f, *args)

    def record(self, op: Op, values: Sequence[Any], results: Sequence[Any]) -> None:
        for i in op.operands:
            v = values[i]
            if v.__class__ not in PLAIN or v._counter is UNVERSIONED:
                values = [self.each(v, self.counted) for v in values]
                break
        super().record(op, values, results)

    def counted(self, value: Any) -> Any:
        """Tensors made in inference mode, whose writes nobody counts, cannot be kept for backward but by this level."""
        if isinstance(value, TensorBase) and value._counter is UNVERSIONED:
            return self.owner.wrap(Nested(value))
        return value

    def map(self, array: Nested, f: Callable[[Tensor], Tensor]) -> Nested:
        return Nested(self.below(f, array.main))

    def lift(self, t: Tensor) -> Nested:
        return Nested(t)

    def write(self, array: Nested, value: Nested) -> None:
        self.inside(self.below, array.main.copy_, value.main)

    def overwrite(self, op: Op, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        self.inside(self.below, op.apply_in_place, self.insides(values))
        bump(self_)

    def as_strided(self, array: Nested, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Nested:
        return self.map(array, lambda t: t.as_strided(shape, strides, offset))
