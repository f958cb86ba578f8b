"""What the transforms have in common: a backend whose "array" is made of tensors of the level below.

Every running transform is a `Level`. A tensor of a level has a `Lifted` as its array, and as its backend that of the
level over the backend of the tensors inside. An op on operands of several levels runs on the one begun last, for which
the others are constants: `Op.apply` leaves it to `Transform.run`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.custom import conclude, context_of
from ..backends.base import Backend
from ..core.declare import Op
from ..core.machine import NO_TENSOR, PLAIN, Tensor, TensorBase, View, moves, requires_grad, tensors_in, wrap
from ..core.machine.node import clock, dated
from ..core.machine.plan import Plan
from ..core.machine.recipe import Record
from ..core.state import Context, Mode, State, left, local, while_transforming
from ..core.structs import LevelParts
from ..core.values import arrays, contiguous_strides, dt
from ..utils._pytree import tree_flatten
from .plans import by_plan


class Level(LevelParts, Context):
    """One run of a transform; a context. `serial` orders levels by their beginning, `depth` counts those around."""

    elements: int | None = None  # of how many elements it makes a batch
    plans = False  # whether calls on its tensors are planned: plans.py
    no_hooks: str | None = None  # why hooks for saved tensors may not be on while it runs
    by_plan = staticmethod(by_plan)

    def __init__(self, kind: type[Transform]) -> None:
        self.kind = kind
        self.always = False  # whether it records in `no_grad` too
        self.has_twins = False
        self.serial = next(clock)
        self.depth = 0
        self.running = False
        self.backends: dict[Backend, Transform] = {}
        self.outer = local.state.mode  # in which it was begun
        self.adopted: list[Tensor] = []  # those from below that were written to with values of this level
        self.returned: list[tuple[Tensor, Tensor]] = []  # the same as they are given back, with what is inside of each

    def over(self, inner: Backend) -> Transform:
        """This level's backend for what is made of tensors of `inner`."""
        found = self.backends.get(inner)
        if found is None:
            found = self.kind(self, inner)
            if self.running:  # else nobody would break these cycles
                self.backends[inner] = found
                found.real = found.home = found
        return found

    def wrap(self, array: Lifted) -> Tensor:
        """The tensor of this level over an array of it."""
        main = array.main
        inner = main._backend.real
        return wrap(array, main.dtype, self.backends.get(inner) or self.over(inner))

    def array_of(self, value: Any) -> Any:
        """The array of a tensor of this level; None for anything else."""
        return value._array if isinstance(value, TensorBase) and value._backend.level == self.serial else None

    def inside(self, value: Any) -> Any:
        """The tensor inside one of this level; any other value as it is."""
        own = isinstance(value, TensorBase) and value._backend.level == self.serial
        return value._array.main if own else value

    def shown(self, inside: str, array: arrays.Array = None) -> str:
        """The printed form of a tensor of this level, by that of the tensor inside."""
        level = self.depth if self.running else -2
        return f"GradTrackingTensor(lvl={level}, value=\n{textwrap.indent(inside, '    ')}\n)"

    def steps(self, op: Op, values: Sequence[Any], insides: Sequence[Tensor]) -> Sequence[Any] | None:
        """The steps of a plan for calls of this form, on the tensors inside; None where the form decides none."""
        return None

    def may_run(self, tensors: Sequence[Tensor]) -> bool:
        """Whether a plan will do for these tensors."""
        return True

    def run_inside(self, state: State, run: Plan, insides: Sequence[Tensor]) -> Tensor:
        """Run a plan on the tensors inside."""
        mode = state.mode
        if self.depth > 1:
            return run(state, mode, insides)
        return state.within(mode.beneath, run, state, mode, insides)  # type: ignore[arg-type]

    def above(self, inside: Tensor) -> Tensor:
        """The result of this level for what a plan made of the tensors inside."""
        raise NotImplementedError

    def recorder(self, op: Op, values: Sequence[Any], operands: Any, tensors: Any, result: Tensor) -> Record | None:
        """The recipe that records calls of this form; None where this level records none."""
        return None

    def draws(self) -> int | None:
        """For how many elements random numbers are to be drawn here; None if they are the same for all."""
        return None

    def batch(self, t: Tensor) -> Tensor:
        """A tensor with so many elements in front as one of this level."""
        raise NotImplementedError

    def expose(self, edges: Sequence[Any]) -> None:
        """Make ready for a pass from these edges while this level runs."""

    def _take(self, state: State) -> tuple[Mode, tuple[Level, ...], str | None]:
        if self.no_hooks and state.mode.saved_hooks:
            raise RuntimeError(self.no_hooks)
        self.outer = state.mode
        return state.mode, state.levels, state.hooks_refused

    def _set(self, state: State, kept: Any) -> None:
        mode, levels, _ = kept
        self.depth = len(levels) + 1
        self.running = True
        state.levels = (*levels, self)
        state.mode = self.mode_inside(mode)
        state.hooks_refused = self.no_hooks or state.hooks_refused

    def mode_inside(self, mode: Mode) -> Mode:
        """The mode in which what is given runs: where one differentiates, inference mode is left."""
        return while_transforming(mode.but(inference=False) if mode.inference else mode)

    def _put(self, state: State, kept: tuple[Mode, tuple[Level, ...], str | None]) -> None:
        """Tensors from below that this level took over become again what they were."""
        outer, levels, refused = kept
        state.levels = levels
        state.mode = left(outer, state.mode)
        state.hooks_refused = refused
        self.running = False
        if self.adopted:
            self.returned = self.returned or [(t, self.inside(t)) for t in self.adopted]
            for t, inside in self.returned:  # any number of times: what is half given back has nothing inside
                t._array, t._backend, t._edge = inside._array, inside._backend, inside._edge
            state.adopted = sum([len(level.adopted) for level in levels])
            self.adopted.clear()
            self.returned.clear()
        for backend in self.backends.values():  # which know this level and themselves: cycles
            backend.__dict__.pop("real", None)
            backend.__dict__.pop("home", None)
        self.backends.clear()


class Lifted:
    """An array made of tensors. What it shows of itself is what an array of its shape and strides would."""

    __slots__ = ()

    main: Tensor  # the tensor inside that has the values
    mark: Any = None  # what forms of calls tell of it, beside the form of that
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # strides, in elements

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        return self.main._array.dtype

    @property
    def itemsize(self) -> int:
        return self.main.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        steps = self.steps if self.main.numel() else contiguous_strides(self.shape)  # of an empty batch, there are none
        return tuple([s * self.itemsize for s in steps])

    @property
    def flags(self) -> Lifted:
        return self

    @property
    def c_contiguous(self) -> bool:
        sizes = zip(self.shape, self.steps, contiguous_strides(self.shape), strict=True)
        return 0 in self.shape or all(n == 1 or s == wanted for n, s, wanted in sizes)


class _Itself:
    """An attribute that is the object it is read from, without a cycle, where it has none of its own."""

    def __get__(self, backend: Backend, cls: type) -> Any:
        return backend


class Transform(Backend):
    """The backend of a level over another backend."""

    Array: Any = Lifted
    strided = bare = False
    real = home = _Itself()

    def __init__(self, owner: Level, inner: Backend) -> None:
        super().__init__(inner.device)
        del self.real, self.home
        self.owner = owner
        self.level = owner.serial
        self.inner = inner.home
        self.bits, self.layout = inner.bits, inner.layout

    # What each transform says for itself

    def compute(self, op: Op, values: Sequence[Any]) -> Any:
        """The results of an op: tensors of this level, or from below where it has no part in them."""
        raise NotImplementedError

    def compute_function(self, function: Callable[..., Any], inputs: tuple[Any, ...], below: tuple[Any, ...]) -> Any:
        """The results of a custom Function; `below` are the inputs with the tensors inside in place of this level's."""
        raise NotImplementedError

    def map(self, array: arrays.Array, f: Callable[[Tensor], Tensor]) -> Any:
        """The array with `f` of every tensor inside."""
        raise NotImplementedError

    def lift(self, t: Tensor) -> Any:
        """A tensor from below as an array of this level."""
        raise NotImplementedError

    def ended(self, op: Op, values: Sequence[Any]) -> Any:
        """The results of an op on what this level has left behind: a tensor counts as what it is made of."""
        return op.apply(*self.insides(values))

    def resized(self, array: arrays.Array, shape: tuple[int, ...], memory_format: Any) -> Any:
        """The array when the tensors inside were given another shape."""
        return self.map(array, lambda t: t.resize_(shape, memory_format=memory_format))

    # What the core asks

    def run(self, op: Op, values: Sequence[Any]) -> Any:
        """The results of an op, with a history on this level where an operand of this level has one."""
        if not self.owner.running:
            return self.ended(op, values)
        state = local.state
        mode = state.mode
        beneath = mode.beneath
        if beneath is None or self.owner.depth > 1 or state.adopted:
            results = self.compute(op, values)
        else:  # what is inside are tensors of a device
            results = state.within(beneath, self.compute, op, values)
        listed = results if isinstance(results, tuple) else (results,)
        top = state.levels[-1].serial if state.levels else 0
        for r in listed:
            if r is not None and r._backend.level != top:
                dated(r)
        if op.rules and (mode.records or self.owner.always):
            if (mode.grad or self.owner.always) and self.tracks(values):
                self.record(op, values, listed)
            if mode.moving:
                mode.moving[-1].follow(op, values, listed)
        return results

    def run_function(self, function: Any, inputs: tuple[Any, ...]) -> Any:
        """The results of a custom Function, with a history on this level where an input of this level has one."""
        leaves, form = tree_flatten(inputs)
        below = form.unflatten([self.owner.inside(v) for v in leaves])
        if not self.owner.running:
            return function.apply(*below)
        mode = local.state.mode
        output = self.inside(self.compute_function, function, inputs, below)
        own = [v for v in inputs if self.owner.array_of(v) is not None]
        if (mode.grad and any(map(requires_grad, own))) or (mode.moving and any(map(moves, own))):
            return conclude(context_of(function, inputs, output, self.level), inputs, output, True)
        return output

    def inside(self, f: Callable[..., Any], *args: Any) -> Any:
        """Call `f` as if the levels below were all that run."""
        state = local.state
        return state.among(tuple([level for level in state.levels if level.serial < self.level]), f, *args)

    def record(self, op: Op, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Operands from below are constants here: they are recorded where they come from."""
        level = self.level
        own = [r for r in results if isinstance(r, TensorBase) and r._backend.level == level]
        if not own or any([r._edge is not None for r in own]):  # the ops it was computed by have recorded it
            return
        edges = op.edges([
            v if v.__class__ in NO_TENSOR or (v.__class__ in PLAIN and v._backend.level == level)
            else self.each(v, self.own)
            for v in values
        ])  # fmt: skip
        if edges is not None:
            op.record_on(edges, values, own if len(own) == len(results) else [self.lifted(r) for r in results])

    def lifted(self, value: Any) -> Any:
        """A tensor, from below or not, as one of this level; None for anything else."""
        if not isinstance(value, TensorBase) or value._backend.level == self.level:
            return value
        return self.owner.wrap(self.lift(value))

    def tracks(self, values: Sequence[Any]) -> bool:
        """Whether an argument has a history on this level."""
        level = self.level
        for v in values:
            if v.__class__ in PLAIN:
                if v._edge is not None and v._backend.level == level and requires_grad(v):
                    return True
            elif v.__class__ not in NO_TENSOR:
                for t in tensors_in(v):
                    if t._backend.level == level and requires_grad(t):
                        return True
        return False

    def own(self, value: Any) -> Any:
        """A tensor of this level, or anything but a tensor; None for a tensor from below."""
        return None if isinstance(value, TensorBase) and value._backend.level != self.level else value

    def insides(self, values: Sequence[Any]) -> list[Any]:
        """Arguments in terms of the level below."""
        level, found = self.level, []
        for v in values:
            if v.__class__ in PLAIN:
                v = v._array.main if v._backend.level == level else v
            elif v.__class__ not in NO_TENSOR:
                v = self.each(v, self.owner.inside)
            found.append(v)
        return found

    def each(self, value: Any, part: Callable[[Any], Any]) -> Any:
        """`part` of an argument, or of every item where it is a sequence."""
        if value.__class__ is tuple or value.__class__ is list:
            return value.__class__([part(v) for v in value])
        return part(value)

    def adopt(self, t: Tensor) -> None:
        """Make a tensor from below, that is to be written to, one of this level."""
        if not self.owner.running:
            return
        self.owner.adopted.append(t)
        local.state.adopted += 1
        view = t._edge
        if view.__class__ is View:
            if view.base._backend.level < self.level:
                self.adopt(view.base)
            made = view.base
            for op, arguments in view.path:
                made = op.apply(made, *arguments)
            t._array, t._backend, t._edge, t._counter = made._array, made._backend, made._edge, made._counter
            return
        inside = t._alias()
        inside._edge = t._edge
        lifted, backend = self.lift(inside), self.owner.over(inside._backend.real)
        t._array, t._backend, t._edge = lifted, backend, None

    def overwrite(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """The in-place form of an op. The tensors inside have histories of their own, which keep what they were."""
        if op.rules and op.linear is not True and local.state.mode.grad and before._array is self_._array:
            before._array = self.copy(self_._array)
        op.overwrite_inside(self_, before, values)

    def shown(self, array: arrays.Array) -> str:
        return self.owner.shown(self.inside(repr, array.main), array)

    # What every backend offers

    def of_inner(self, array: arrays.Array) -> Tensor:
        return wrap(array, dt.of_numpy(array.dtype), self.inner)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
        return self.lift(self.of_inner(self.inner.full(shape, value, dtype)))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.full(shape, 0, dtype)

    def empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
        return self.lift(self.of_inner(self.inner.empty_strided(shape, strides, dtype)))

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        return self.lift(self.of_inner(self.inner.asarray(value, dtype)))

    def cast(self, array: arrays.Array, dtype: Any) -> Any:
        return self.map(array, lambda t: t.to(dt.of_numpy(dtype)))

    def copy(self, array: arrays.Array, order: str = "K") -> Any:
        return self.map(array, lambda t: t.clone())

    def strides(self, array: arrays.Array) -> tuple[int, ...]:
        return array.steps

    def offset(self, array: arrays.Array) -> int:
        return array.main.storage_offset()

    def to_host(self, array: arrays.Array) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    pointer = to_host

    def storage(self, array: arrays.Array) -> Any:
        raise NotImplementedError("Cannot access storage of TensorWrapper")

    def number(self, array: arrays.Array) -> Any:
        return array.main._backend.real.number(array.main._array)

    def read(self, array: arrays.Array) -> Any:
        return array.main._backend.real.read(array.main._array)

    def truth(self, array: arrays.Array) -> bool:
        """What `bool` of a tensor says."""
        return bool(array.main)
