"""Forward differentiation: an array that is a tensor and its tangent, and `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.custom import context_of, marked
from ..autograd.forward import check_size, forward, laid_out_as, widened, zeros_like
from ..autograd.function_tangents import tangents_by_jvp
from ..core.declare import Op, ViewOp
from ..core.machine import NO_TENSOR, Tensor, TensorBase, View, base_of, requires_grad, resolve, untouched
from ..core.state import local
from ..core.structs import DualParts, know, whole
from ..core.values import dt
from ..operations.shapes.shape import alias, detach
from ..utils._pytree import tree_flatten
from .arguments import results_of
from .transform import Level, Lifted, Transform


@whole
class Dual(DualParts, Lifted):
    """A tensor, and how it moves. What cannot be differentiated has no tangent."""

    __slots__ = ()

    mark = "jvp"

    def __init__(self, primal: Tensor, tangent: Tensor | None) -> None:
        self.main = primal
        self.shape = primal._array.shape
        self.tangent = None if tangent is None else laid_out_as(primal, tangent)

    @property
    def steps(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.main.stride()


know(Dual=Dual)


class DualBackend(Transform):
    Array = Dual

    def compute(self, op: Op, values: Sequence[Any]) -> Any:
        primals = self.insides(values)
        results = op.flat(*primals)
        several = isinstance(results, tuple)
        listed = tuple(results) if several else (results,)
        view = isinstance(op, ViewOp)
        tangent = self.tangent if view else self.motion
        moves = [None if v.__class__ in NO_TENSOR else self.each(v, tangent) for v in values]
        tangents = forward(op, primals, moves, listed) if local.state.mode.forward else None
        if tangents is not None:
            if not view:
                tangents = [self.fresh(t, moves) for t in tangents]
            listed = tuple([
                r if t is None else self.owner.wrap(Dual(r, t)) for r, t in zip(listed, tangents, strict=True)
            ])  # fmt: skip
        if view or op is detach:  # what shows memory of this level belongs to it, moving or not
            listed = tuple([r if r._backend.level == self.level else self.owner.wrap(self.lift(r)) for r in listed])
        return listed if several else listed[0]

    def compute_function(self, function: Any, inputs: tuple[Any, ...], below: tuple[Any, ...]) -> Any:
        output = function.apply(*below)
        several = isinstance(output, tuple)
        outputs = output if several else (output,)
        tangents = [self.tangent(v) for v in inputs]
        if any([t is not None for t in tangents]):
            ctx = context_of(function, below, output, 0)
            moved = tangents_by_jvp(ctx, below, tangents, outputs, *marked(ctx))
            given = {id(b): v for b, v in zip(below, inputs, strict=True)}
            outputs = tuple([
                r if t is None else given[id(r)] if id(r) in given else self.owner.wrap(Dual(r, t))
                for r, t in zip(outputs, moved, strict=True)
            ])  # fmt: skip
        return outputs if several else outputs[0]

    def fresh(self, tangent: Tensor | None, others: Sequence[Any]) -> Tensor | None:
        """A tangent that can be written to without writing to those it was made of."""
        if tangent is None or not (tangent._edge.__class__ is View or any([t is tangent for t in others])):
            return tangent
        return tangent.clone()

    def tangent(self, value: Any) -> Tensor | None:
        array = self.owner.array_of(value)
        return None if array is None else array.tangent

    def motion(self, value: Any) -> Tensor | None:
        """A tangent, unless it is known to be zero and there is no history to be recorded."""
        found = self.tangent(value)
        return None if found is None or (untouched(found) and not requires_grad(value)) else found

    def map(self, array: Dual, f: Callable[[Tensor], Tensor]) -> Dual:
        primal = f(array.main)
        moves = array.tangent is not None and primal.dtype.category >= dt.FLOAT
        return Dual(primal, f(array.tangent) if moves else None)  # type: ignore[arg-type]

    def lift(self, t: Tensor) -> Dual:
        return Dual(t, zeros_like(t) if t.dtype.category >= dt.FLOAT else None)

    def write(self, array: Dual, value: Dual) -> None:
        self.inside(self.copy_into, array, value)

    def copy_into(self, array: Dual, value: Dual) -> None:
        array.main.copy_(value.main)
        if array.tangent is None:
            return
        if value.tangent is not None and not untouched(value.tangent):
            through_view = untouched(array.tangent) and base_of(array.tangent) is not None
            array.tangent.copy_(widened(value.tangent, array.main) if through_view else value.tangent)
        elif not untouched(array.tangent):
            array.tangent.zero_()

    def as_strided(self, array: Dual, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Dual:
        return self.map(array, lambda t: t.as_strided(shape, strides, offset))

    def moves(self, array: Dual) -> bool:
        return array.tangent is not None and not untouched(array.tangent)

    def resized(self, array: Dual, shape: tuple[int, ...], memory_format: Any) -> Dual:
        raise RuntimeError("cannot resize variables that has a forward grad")


# ---- jvp


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `func(*primals)`, and its derivative along `tangents`.

    With `has_aux`, `func` returns a pair of which the second part is handed on as a third result. `strict` refuses
    outputs that do not depend on the inputs.
    """
    where = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{where}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    points, form = tree_flatten(primals)
    directions, other = tree_flatten(tangents)
    if form != other:
        raise RuntimeError(
            f"{where}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {form} and tangents "
            f"with structure {other}"
        )
    for name, leaves in (("primals", points), ("tangents", directions)):
        for leaf in leaves:
            if not isinstance(leaf, TensorBase):
                raise RuntimeError(f"{where}: Expected {name} to only contain Tensors, got {type(leaf)}")
        if not leaves:
            raise RuntimeError(f"{where}: Expected {name} to contain at least one Tensor.")
    level = Level(DualBackend)
    with level:
        moving = [level.wrap(_dual(p, t)) for p, t in zip(points, directions, strict=True)]
        outputs = func(*form.unflatten(moving))
        leaves, form, aux = results_of(outputs, level, has_aux, where)
        for leaf in leaves:
            if strict and level.array_of(leaf) is None:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
        moves = form.unflatten([_tangent(level, leaf) for leaf in leaves])
    return form.unflatten([alias.apply(level.inside(leaf)) for leaf in leaves]), moves, *aux


def _dual(primal: Tensor, tangent: Tensor) -> Dual:
    for name, t in (("primal", primal), ("tangent", tangent)):
        if t.dtype.category < dt.FLOAT:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype!r}")
    if local.state.mode.grad:
        resolve(primal)  # what moves is a view, which asks for the history
    check_size(primal, tangent)
    return Dual(primal, tangent)


def _tangent(level: Level, value: Tensor) -> Tensor:
    array = level.array_of(value)
    found = None if array is None else array.tangent
    return level.inside(value).new_zeros(value.shape) if found is None or untouched(found) else found
