"""Custom Functions on batches: by the `vmap` that they define, or by mapping their forward, backward and jvp."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd.custom import wrong_count
from ..autograd.function import _NOTE, Function, FunctionMeta
from ..core.machine import TensorBase
from ..core.values import wrap_dim
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten
from .batched_array import Batched

if TYPE_CHECKING:
    from .batched import BatchLevel


class VmapInfo(NamedTuple):
    """The batch, as the `vmap` method of a Function sees it: its size and randomness."""

    batch_size: int
    randomness: str


def run(level: BatchLevel, function: Any, inputs: Sequence[Any], below: Sequence[Any]) -> Any:
    """The results of a Function, as tensors of this level where they have a batch; `below` are the tensors inside."""
    leaves, form = tree_flatten(tuple(inputs))
    dims = form.unflatten([None if array is None else array.dim for array in map(level.array_of, leaves)])
    defined = function.vmap is not Function.vmap
    if function.generate_vmap_rule and defined:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an overridden "
            "vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
            f"avoid ambiguity. {_NOTE}"
        )
    if function.generate_vmap_rule:
        mapped = Mapped(level.another, function, dims)
        output, out_dims = _mapping(function).apply(mapped, *below), mapped.out_dims
    elif defined:
        output, out_dims = _pair(function.vmap(VmapInfo(level.size, level.randomness), dims, *below))
    else:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override and "
            f"implement the vmap staticmethod or set generate_vmap_rule=True. {_NOTE}"
        )
    given = {(id(array.main), array.dim): v for v in inputs if (array := level.array_of(v)) is not None}
    outputs, form = tree_flatten(output)
    found = _broadcast_to_and_flatten(out_dims, form)
    if found is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {form}. {_NOTE}"
        )

    def batched(t: Any, dim: int | None) -> Any:
        if dim is None or not isinstance(t, TensorBase):
            return t
        if not t.dim():
            raise ValueError(f"{function.__name__}.vmap returned a batch of elements that has no dimension {dim}")
        dim = wrap_dim(dim, t.dim())
        return given[id(t), dim] if (id(t), dim) in given else level.wrap(Batched(t, dim))

    return form.unflatten(map(batched, outputs, found))


def _pair(result: Any) -> Any:
    if isinstance(result, tuple) and len(result) == 2:
        return result
    got = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
    raise RuntimeError(
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
        f"with the output. Got {got} instead"
    )


class MappedFunction(Function):
    """A Function for whole batches, made of one for elements: its first argument says of which and how."""

    generate_vmap_rule = True

    @staticmethod
    def forward(mapped: Mapped, *operands: Any) -> Any:
        return mapped.forward(*operands)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx._mapped = inputs[0]
        ctx._mapped.setup_context(ctx, inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return None, *ctx._mapped.backward(ctx, *gradients)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        return ctx._mapped.jvp(ctx, *tangents)


def _mapping(element: Any) -> Any:
    """The Function that maps another one, made once and kept by that."""
    found = vars(element).get("_mapping")
    if found is None:
        found = element._mapping = FunctionMeta(f"Vmapped{element.__name__}", (MappedFunction,), {})
    return found


class Mapped:
    """A call of a Function on every element of a batch."""

    def __init__(self, begin: Callable[[], BatchLevel], element: Any, in_dims: Any) -> None:
        self.begin = begin  # a level for a further run over the batch
        self.element = element
        self.in_dims = in_dims
        self.out_dims: Any = None
        self.shapes: list[Any] = []  # of the elements of each input

    def forward(self, *operands: Any) -> Any:
        self.shapes = [_element_shape(v, dim) for v, dim in zip(operands, self.in_dims, strict=True)]
        output, self.out_dims = self.over(lambda level, *args: self.element.forward(*args), operands, self.in_dims)
        return output

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        def set_up(level: BatchLevel, inputs: Any, output: Any) -> None:
            self.element.setup_context(BatchCtx(ctx, level, self), inputs, output)

        self.over(set_up, (inputs, output), (self.in_dims, self.out_dims))

    def backward(self, ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        def gradient(level: BatchLevel, *gradients: Any) -> Any:
            return self.element._gradient()(BatchCtx(ctx, level, self), *gradients)

        found, dims = self.over(gradient, gradients, _listed(self.out_dims))
        count = len(self.in_dims)
        found, dims = _listed(found), _listed(dims)
        if len(found) < count:
            raise wrong_count(f"Vmapped{self.element.__name__}Backward", count, len(found))
        return tuple(map(self.gradient, found, dims, self.in_dims, self.shapes))

    def gradient(self, g: Any, dim: int | None, to: int | None, shape: Any) -> Any:
        """The gradient of an input: summed over what this was expanded by, and over the batch where it has none."""
        if not isinstance(g, TensorBase):
            return g
        if dim is not None and shape is not None:
            have = _element_shape(g, dim)
            padded = (1,) * (len(have) - len(shape)) + shape
            if have != shape and all([a in (b, 1) for a, b in zip(padded, have, strict=False)]):
                size = g.shape[dim]
                g, dim = g.movedim(dim, 0).sum_to_size(size, *padded).reshape(size, *shape), 0
        return self.moved(g, dim, to)

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        def tangent(level: BatchLevel, *tangents: Any) -> Any:
            return self.element.jvp(BatchCtx(ctx, level, self, "save_for_forward"), *tangents)

        found, dims = self.over(tangent, tangents, self.in_dims)
        moved = [
            self.moved(t, dim, to)
            for t, dim, to in zip(_listed(found), _listed(dims), _listed(self.out_dims), strict=False)
        ]
        return tuple(moved) if isinstance(found, tuple) else moved[0]

    def over(self, f: Callable[..., Any], values: Sequence[Any], dims: Any) -> tuple[Any, Any]:
        """Call `f` on elements of a batch that lies in these dimensions; its results, and where their batch lies."""
        leaves, form = tree_flatten(tuple(values))
        level = self.begin()
        with level:
            given = [
                v if dim is None or v is None else level.wrap(Batched(v, dim))
                for v, dim in zip(leaves, tree_flatten(dims)[0], strict=True)
            ]
            found, form = tree_flatten(f(level, *form.unflatten(given)))
            arrays = [level.array_of(v) for v in found]
            outputs = [v if array is None else array.main for v, array in zip(found, arrays, strict=True)]
            return form.unflatten(outputs), form.unflatten([None if a is None else a.dim for a in arrays])

    def moved(self, t: Any, dim: int | None, to: int | None) -> Any:
        """A gradient or tangent with its batch where it is wanted: summed where what it is for has none."""
        if not isinstance(t, TensorBase) or dim == to:
            return t
        if dim is None:
            return t if to is None else t.expand((self.begin().size, *t.shape)).movedim(0, to)
        return t.sum(dim) if to is None else t.movedim(dim, to)


def _listed(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


def _element_shape(t: Any, dim: int | None) -> Any:
    """The shape without the batch; None for what is no tensor."""
    if not isinstance(t, TensorBase):
        return None
    shape = tuple(t._array.shape)
    return shape if dim is None else (*shape[:dim], *shape[dim + 1 :])


class BatchCtx:
    """The context of a call on a batch, as the methods for elements see it: its tensors are elements.

    Whatever it is given goes to the context as a whole batch; `_notes` say where the batches of it lie. As such
    contexts may stand before one another, each has notes of its own, kept by its `owner`.
    """

    def __init__(self, ctx: Any, level: BatchLevel, owner: Mapped, saved: str = "save_for_backward") -> None:
        self.__dict__.update(_ctx=ctx, _level=level, _owner=owner, _saved=saved)

    def save_for_backward(self, *tensors: Any) -> None:
        self._ctx.save_for_backward(*self._noted("save_for_backward", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._ctx.save_for_forward(*self._noted("save_for_forward", tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved for the method that runs."""
        tensors = self._ctx.saved_tensors
        return self._elements(self._saved, tensors) if tensors else ()

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        return self._ctx.needs_input_grad[1:]

    @property
    def _mapped(self) -> Any:
        return self._notes["_mapped"]

    def __getattr__(self, name: str) -> Any:
        return self._elements(name, (getattr(self._ctx, name),))[0]

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_mapped":
            self._notes[name] = value
        else:
            setattr(self._ctx, name, *self._noted(name, (value,)))

    def _noted(self, name: str, values: Sequence[Any]) -> list[Any]:
        arrays = [self._level.array_of(v) for v in values]
        self._notes[name] = [None if array is None else array.dim for array in arrays]
        return [self._level.inside(v) for v in values]

    def _elements(self, name: str, values: Sequence[Any]) -> tuple[Any, ...]:
        dims = self._notes.get(name, itertools.repeat(None))
        return tuple([v if dim is None else self._level.wrap(Batched(v, dim)) for v, dim in zip(values, dims)])

    @property
    def _notes(self) -> dict[str, Any]:
        ctx = self._ctx
        while isinstance(ctx, BatchCtx):
            ctx = ctx._ctx
        return ctx.__dict__.setdefault("_batch_notes", {}).setdefault(self._owner, {})
