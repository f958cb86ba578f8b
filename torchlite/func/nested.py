"""Reverse differentiation: a level whose tensors hold one tensor each, and record a graph of their own.

The tensors inside have histories of theirs, on the levels below: so `grad` nests in itself and in all else. What is
recorded outlives the level. Backward through it runs after the level has ended, when its tensors count as the tensors
inside; the gradients are then tensors of the level below, with a history there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import LEAF, PLAIN, UNVERSIONED, Tensor, TensorBase, bump
from ..core.state import Mode, State, local, with_grad
from ..core.values import dt
from .transform import Level, Lifted, Transform


class Nested(Lifted):
    """A tensor as one of the level above."""

    __slots__ = ("main", "shape")

    def __init__(self, inside: Tensor) -> None:
        self.main = inside
        self.shape = inside.array.shape

    @property
    def steps(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.main.stride()


_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


class NestedLevel(Level):
    """One run of `grad` or `vjp`.

    Inside, operations are recorded whatever mode the transform is called in. That mode decides about the levels below.
    """

    def __init__(self, always: bool = False) -> None:
        super().__init__(NestedBackend)
        self.always = always

    def _take(self, state: State) -> Any:
        if state.mode.saved_hooks:
            raise RuntimeError(_NO_HOOKS)
        return super()._take(state)

    def _set(self, state: State, kept: Any) -> None:
        super()._set(state, kept)
        state.hooks_refused = _NO_HOOKS

    def mode_inside(self, mode: Mode) -> Mode:
        return with_grad(super().mode_inside(mode), True)

    def leaf(self, t: Tensor) -> Tensor:
        """A tensor from below as an input whose gradient is asked for."""
        if t.dtype.category < dt.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        made = self.wrap(Nested(t))
        made.edge = LEAF
        return made


class NestedBackend(Transform):
    Array = Nested
    owner: NestedLevel

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
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

    def record(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        for i in op.operands:
            v = values[i]
            if v.__class__ not in PLAIN or v.counter is UNVERSIONED:
                values = [self.each(v, self.counted) for v in values]
                break
        super().record(op, values, results)

    def counted(self, value: Any) -> Any:
        """Tensors made in inference mode, whose writes nobody counts, cannot be kept for backward but by this level."""
        if isinstance(value, TensorBase) and value.counter is UNVERSIONED:
            return self.owner.wrap(Nested(value))
        return value

    def map(self, array: Nested, f: Callable[[Tensor], Tensor]) -> Nested:
        return Nested(self.below(f, array.main))

    def lift(self, t: Tensor) -> Nested:
        return Nested(t)

    def write(self, array: Nested, value: Nested) -> None:
        self.inside(self.below, array.main.copy_, value.main)

    def overwrite(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        self.inside(self.below, op.apply_in_place, self.insides(values))
        bump(self_)

    def as_strided(self, array: Nested, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Nested:
        return self.map(array, lambda t: t.as_strided(shape, strides, offset))
