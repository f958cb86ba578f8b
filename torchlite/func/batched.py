"""Batches: an array that is a tensor with one dimension more than the user sees, and the rules by which ops run on it.

What an op declares as `batch=` (core/machine/batching.py) says which rule is its own.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ..core.declare import Elementwise, Op, Reduction
from ..core.machine import NO_TENSOR, PLAIN, Tensor, TensorBase, base_of, requires_grad, tensors_in
from ..core.machine.batching import BROADCAST, DIMENSIONS, DYNAMIC, FILLING, RANDOM, SHAPES, Leading, dynamic_shape
from ..core.machine.noted import Noted
from ..core.machine.tangent import Untouched, untouched
from ..core.state import Mode, local, while_transforming
from ..core.structs import know
from ..core.values import Array, dt, strided, warn
from ..operations.shapes.joining import stack
from . import batched_function
from .batched_array import Batched
from .transform import Level, Transform


class BatchLevel(Level):
    """One run of `vmap` over so many elements."""

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__(BatchedBackend)
        self.elements = self.size = size
        self.randomness = randomness

    def mode_inside(self, mode: Mode) -> Mode:
        return while_transforming(mode)

    def shown(self, inside: str, array: Array = None) -> str:
        return f"BatchedTensor(lvl={self.depth}, bdim={array.dim}, value=\n{textwrap.indent(inside, '    ')}\n)"

    def draws(self) -> int | None:
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        return self.size if self.randomness == "different" else None

    plans = True

    def steps(self, op: Op, values: Sequence[Any], insides: Sequence[Tensor]) -> Sequence[Any] | None:
        if op.batch is not BROADCAST and not isinstance(op.batch, Leading):
            return None
        state = local.state
        mode: Any = state.mode.beneath if self.depth == 1 else state.mode
        noted = Noted(insides, mode)
        backend = next(b for i in op.operands for t in tensors_in(values[i]) if (b := t._backend).level == self.serial)
        result = state.within(mode.but(kernels=noted), backend.compute, op, values)
        last = noted.steps and isinstance(result, Tensor) and result._array.main is noted.held[-1]
        return noted.steps if last else None

    def may_run(self, tensors: Sequence[Tensor]) -> bool:
        return not any([t._edge is not None and t._backend.level == self.serial and requires_grad(t) for t in tensors])

    def above(self, inside: Tensor) -> Tensor:
        return self.batch(inside)

    def another(self) -> BatchLevel:
        """A level for a further run over the same batch."""
        return BatchLevel(self.size, self.randomness)

    def batch(self, t: Tensor) -> Tensor:
        """A tensor with the batch in front as one of this level."""
        return self.wrap(Batched(t, 0))


know(BatchLevel=BatchLevel)


class BatchedBackend(Transform):
    Array = Batched
    owner: BatchLevel

    def compute(self, op: Op, values: Sequence[Any]) -> Any:
        rule = op.batch
        if rule is None:
            results = self.one_by_one(op, values)
        elif rule is BROADCAST:
            results = self.broadcast(op, values)
        elif rule is DYNAMIC:
            raise RuntimeError(dynamic_shape(op.signature.name))
        elif rule is RANDOM or rule is FILLING:
            results = self.drawn(op, values, values[1:] if rule is FILLING else values)
        elif isinstance(rule, Leading):
            results = self.leading(op, rule, values)
        else:  # made of ops on tensors of this level
            state = local.state
            state.mode = while_transforming(state.mode)
            return rule(*values)
        if isinstance(results, tuple):
            return tuple([None if r is None else self.owner.batch(r) for r in results])
        return self.owner.batch(results)

    def compute_function(self, function: Callable[..., Any], inputs: tuple[Any, ...], below: tuple[Any, ...]) -> Any:
        return batched_function.run(self.owner, function, inputs, below)

    def ended(self, op: Op, values: Sequence[Any]) -> Any:
        raise RuntimeError(
            "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
            "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
            "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
        )

    # ---- the rules

    def broadcast(self, op: Op, values: Sequence[Any]) -> Any:
        """Dimensions are aligned from the last; a batch comes before all others."""
        level, arguments, own, ndim = self.level, [*values], [], 0
        for i in op.operands:
            v = values[i]
            if v.__class__ in PLAIN or isinstance(v, TensorBase):
                array = v._array
                ndim = max(ndim, len(array.shape))
                if v._backend.level == level:
                    own.append((i, array))
        for i, array in own:
            shape = array.shape
            t = arguments[i] = array.main if array.dim == 0 and len(shape) == ndim else array.front(ndim)
            if not shape and isinstance(op, Elementwise) and t.dtype is not dt.bool_:
                common = op.compute_dtype(values)  # it promotes as the number does that it is a batch of
                if t.dtype is not common:
                    arguments[i] = t.to(common)
        return op.flat(*arguments)

    def leading(self, op: Any, rule: Leading, values: Sequence[Any]) -> Any:
        """The op on operands with the batch in front."""
        reduction = isinstance(op, Reduction)
        if reduction and op.dim_at is None:
            raise AssertionError(f"op '{op.name}' reduces a whole tensor and has to say by what other op")
        if rule.given is not None:
            values = rule.given(*values)
        if rule.call is not None:
            return rule.call(*[v if v.__class__ in NO_TENSOR else self.each(v, self.front) for v in values])
        arguments = [v if v.__class__ in NO_TENSOR else self.each(v, self.expanded) for v in values]
        params = op.signature.params
        first = values[0]
        if first.__class__ not in PLAIN:
            first = next(t for i in op.operands for t in tensors_in(values[i]))
        ndim = len(first._array.shape)
        dims, shapes = _places(op)
        flat = not ndim and not rule.more and bool(dims)
        if flat:  # dimension 0 of a number stands for the number
            arguments = [self.each(v, _with_one) for v in arguments]
            ndim = 1
        for i in dims:
            dim = arguments[i]
            if dim.__class__ is tuple or dim.__class__ is list:
                arguments[i] = tuple([_moved(ndim + rule.more, d) for d in dim])
            else:
                arguments[i] = _moved(ndim + rule.more, dim)
        for i in shapes:
            arguments[i] = (self.owner.size, *arguments[i])
        if reduction:
            self.whole(op, arguments, values, ndim)
        results = op.apply(*arguments)
        if flat and not any([t._array.shape for i in op.operands for t in tensors_in(values[i])]):
            return self.each(results, lambda t: t.squeeze(1) if t.dim() > 1 else t)
        if reduction and not params[op.dim_at].sequence:
            keepdim = op.keepdim_at is not None and values[op.keepdim_at]
            if values[op.dim_at] is None and keepdim:
                return self.each(results, lambda t: t.reshape((-1,) + (1,) * ndim))
        return results

    def whole(self, op: Reduction, arguments: list[Any], values: Sequence[Any], ndim: int) -> None:
        """Name the dimensions that a reduction over all of them is to go over."""
        at = op.dim_at
        if at is None or op.axis(values, ndim) is not None:
            return
        if op.signature.params[at].sequence:
            arguments[at] = tuple(range(1, ndim + 1))
        else:
            arguments[0] = arguments[0].flatten(1)
            arguments[at] = 1

    def one_by_one(self, op: Op, values: Sequence[Any]) -> Any:
        """The op on every element of the batch, and the results stacked."""
        _fall_back(op.name)
        if not self.owner.size:
            raise RuntimeError(
                f"vmap: the operator aten::{op.name} has no batching rule yet, and a batch of size zero cannot do "
                "without."
            )
        results = [
            op.apply(*[self.each(v, functools.partial(self.element, at)) for v in values])
            for at in range(self.owner.size)
        ]
        if isinstance(results[0], tuple):
            return tuple([_stacked(parts) for parts in zip(*results, strict=True)])
        return _stacked(results)

    def drawn(self, op: Op, values: Sequence[Any], parameters: Sequence[Any]) -> Tensor:
        """Random numbers for every element, or the same for all."""
        different = self.owner.draws() is not None
        if not different and any([self.owner.array_of(v) is not None for v in parameters]):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Please file an issue "
                "with functorch"
            )
        state = local.state
        outer = state.levels
        state.levels = tuple([level for level in outer if level.serial < self.level])
        try:
            if different:
                ndim = max([len(v._array.shape) for v in values if isinstance(v, TensorBase)])
                return op.apply(*[self.expanded(v, ndim) for v in values])
            one = op.apply(*[self.element(0, v) for v in values])
        finally:
            state.levels = outer
        return one.expand((self.owner.size, *one.shape))

    # ---- operands

    def each(self, value: Any, f: Callable[[Any], Any]) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple([f(v) for v in value])
        return f(value)

    def front(self, value: Any) -> Any:
        array = self.owner.array_of(value)
        return value if array is None else array.front()

    def expanded(self, value: Any, ndim: int = 0) -> Any:
        """A tensor without a batch repeated for every element of it; both with dimensions to make up for `ndim`."""
        array = self.owner.array_of(value)
        if array is not None:
            return array.front(ndim)
        if not isinstance(value, TensorBase):
            return value
        return value.expand((self.owner.size, *(1,) * (ndim - value.dim()), *value.shape))

    def element(self, at: int, value: Any) -> Any:
        array = self.owner.array_of(value)
        return value if array is None else array.main.select(array.dim, at)

    # ---- the backend

    def map(self, array: Batched, f: Callable[[Tensor], Tensor]) -> Batched:
        return Batched(f(array.main), array.dim)

    def lift(self, t: Tensor) -> Batched:
        return Batched(t.expand((self.owner.size, *t.shape)), 0)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any) -> Batched:
        return Batched(self.of_inner(self.inner.full((self.owner.size, *shape), value, dtype)), 0)

    def empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Batched:
        extent = 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
        made = self.inner.empty_strided((self.owner.size, *shape), (max(1, extent), *strides), dtype)
        return Batched(self.of_inner(made), 0)

    def write(self, array: Batched, value: Batched) -> None:
        self.inside(array.front().copy_, value.front(len(array.shape)))

    def adopt(self, t: Tensor) -> None:
        if untouched(t):
            super().adopt(t)
            if base_of(t) is None:
                t._array = self.copy(t._array)
                t._array.main._counter = Untouched()
            return
        raise RuntimeError(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. "
            "If said operator is being called inside the PyTorch framework, please file a bug report instead."
        )

    def as_strided(self, array: Batched, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Batched:
        t = array.front()
        return Batched(t.as_strided((self.owner.size, *shape), (t.stride(0), *strides), offset), 0)

    def resized(self, array: Batched, shape: tuple[int, ...], memory_format: Any) -> Batched:
        """In the memory of the whole batch, as in PyTorch: elements that get smaller do not stay apart."""
        if array.dim or memory_format is not None:
            raise RuntimeError("vmap: resize_ is there for contiguous batches in the first dimension alone")
        return Batched(array.main.resize_((self.owner.size, *shape)), 0)

    def number(self, array: Batched) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
            "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere "
            "inside PyTorch internals, please file a bug report."
        )

    def storage(self, array: Batched) -> Any:
        raise NotImplementedError("Cannot access storage of BatchedTensorImpl")

    def read(self, array: Batched) -> Any:
        return self.to_host(array)

    def truth(self, array: Batched) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
        )


def _with_one(value: Any) -> Any:
    return value.unsqueeze(1) if isinstance(value, TensorBase) and value.dim() == 1 else value


@functools.cache
def _places(op: Op) -> tuple[list[int], list[int]]:
    """Which arguments of an op name dimensions, and which are shapes that have the batch's size in front."""
    ints = [(i, p) for i, p in enumerate(op.signature.params) if p.type == "int"]
    return [i for i, p in ints if p.name in DIMENSIONS], [i for i, p in ints if p.sequence and p.name in SHAPES]


def _moved(ndim: int, dim: Any) -> Any:
    """A dimension counted with the batch; those counted from the end stay."""
    if dim is None or -ndim <= dim < 0:
        return dim
    if 0 <= dim < ndim:
        return dim + 1
    raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    made = stack.apply(tuple(parts), 0)
    return made if made.layout is strided else made.view(made.shape)  # as PyTorch does, which refuses it so


fallback = SimpleNamespace(enabled=True, warns=True)
"""Whether ops without a rule run element by element, and whether it is warned of that."""


def _fall_back(name: str) -> None:
    if not fallback.enabled:
        raise RuntimeError(f"aten::{name} hit the vmap fallback which is currently disabled")
    if fallback.warns:
        warn(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{name}. "
            "Please file us an issue on GitHub so that we can prioritize its implementation.",
        )
