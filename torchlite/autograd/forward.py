"""Forward differentiation: the tangents of an op's results.

They follow from what the op declares:

- a linear op is applied to the tangents,
- the formulas of an elementwise op, whose Jacobian is diagonal, serve for tangents as for gradients,
- else the backward formulas, which are linear in the gradient, are themselves transposed by differentiating them.

`follow` does this after every op that runs while a level is open, level by level: the tangents of one are computed
with those before it open, at which they may move themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.lazy import flipped
from ..core.declare import Elementwise, Op, OpNode, ViewOp
from ..core.machine import LEAF, UNVERSIONED, Node, SavedOutput, Tensor, TensorBase, View, resolve, version_of, wrap
from ..core.machine.operands import form_of, requires_grad, tensors_in
from ..core.machine.saved import Packed
from ..core.machine.tangent import (
    TangentLevel,
    Untouched,
    moving_base,
    part_in_memory,
    set_tangent,
    tangent_of,
    tangents_of,
    untouched,
)
from ..core.state import local, with_grad
from ..core.values import Backend, dt, forward_not_implemented
from . import engine

# ---- after an op


def follow(op: Op, values: Sequence[Any], results: Sequence[Any]) -> None:
    """Give the results of an op their tangents."""
    view = isinstance(op, ViewOp)
    if op.still:
        return

    def act(level: TangentLevel, tangents: list[Any]) -> None:
        if any(r is not None and tangent_of(r, level) is not None for r in results):
            return  # made of ops that have been followed
        if view and not op.linear and values[0]._backend.real.strided:
            moved: Sequence[Tensor | None] | None = [part_in_memory(tangents[0], values[0], r) for r in results]
        else:
            moved = forward(op, values, tangents, [None if r is None else still(r) for r in results])
        for r, t in zip(results, moved or (), strict=False):
            if t is not None:
                give(r, level, t if view else owned(t, tangents))

    at_each_level(values, act)


def follow_in_place(op: Any, target: Tensor, before: Tensor, values: Sequence[Any], node: OpNode | None) -> None:
    """Give what an op has written to, in a step of history `node`, its new tangents; `before` is what it was."""
    operands = [before, *[before if v is target else v for v in values[1:]]]

    def act(level: TangentLevel, tangents: list[Any]) -> None:
        moved = forward(op, operands, tangents, [still(target)], in_place=True)
        if moved is not None and moved[0] is not None:
            move(target, level, owned(moved[0], tangents))
        elif tangents[0] is not None:
            move(target, level, zeros_like(target))
        if node is not None:
            _move_saved(node, 0, level, tangent_of(target, level))

    at_each_level(operands, act)


class ForwardLevel(TangentLevel):
    """A level of forward mode, which follows what is done with its tensors."""

    def follow(self, op: Op, values: Sequence[Any], results: Sequence[Any]) -> None:
        follow(op, values, results)

    def follow_in_place(self, op: Any, target: Tensor, before: Tensor, values: Sequence[Any], node: Any) -> None:
        follow_in_place(op, target, before, values, node)


def at_each_level(values: Sequence[Any], act: Callable[[TangentLevel, list[Any]], None]) -> None:
    """Call `act` with every level at which operands move, and their tangents there, while those before it are open."""
    state = local.state
    outer = state.mode
    for depth, level in enumerate(outer.moving):
        tangents = [_tangents(v, level) for v in values]
        if any(t is not None for v in tangents for t in _listed(v)):
            state.within(outer.but(levels=outer.moving[:depth]), act, level, tangents)


def _tangents(value: Any, level: TangentLevel) -> Any:
    if value.__class__ is tuple or value.__class__ is list:
        return [_tangents(v, level) for v in value]
    return tangent_of(value, level) if isinstance(value, TensorBase) else None


def still(t: Tensor) -> Tensor:
    """`t` with its tangents at the open levels alone: the history of another may hold it, and `t` would own itself."""
    alias = t._alias()
    alias._edge = t._edge
    for below, tangent in tangents_of(t):
        set_tangent(alias, below, tangent)
    return alias


def owned(tangent: Tensor, others: Sequence[Any]) -> Tensor:
    """A tangent that can be written to without writing to others."""
    array = tangent._array
    shown = tangent._edge.__class__ is View or (tangent._backend.strided and array.base is not None)
    shared = shown or any(t is not None and t._array is array for value in others for t in _listed(value))
    return tangent.clone() if shared else tangent


def give(t: Tensor, level: TangentLevel, tangent: Tensor) -> None:
    """`t` moves so from now on, and so does the copy of it that its node has saved."""
    tangent = laid_out_as(t, tangent)
    set_tangent(t, level, tangent)
    edge = t._edge
    if edge.__class__ is tuple and isinstance(edge[0], OpNode):
        _move_saved(edge[0], edge[1], level, tangent)


def _move_saved(node: OpNode, output: int, level: TangentLevel, tangent: Tensor | None) -> None:
    """What a node has saved of an output moves as that does."""
    for entry in node.saved_entries or ():
        if isinstance(entry, (SavedOutput, Packed)) and entry.output == output and tangent is not None:
            entry.move(level, tangent)


def move(t: Tensor, level: TangentLevel, tangent: Tensor) -> None:
    """`t` was written to and moves so now: its tangent is written to as well, where it has one."""
    have = tangent_of(t, level)
    base = moving_base(t)
    if have is None and base is not None and base.dtype.category >= dt.FLOAT:
        whole = base.new_empty_strided(base.shape, base.stride())
        set_tangent(base, level, whole.zero_())
        have = tangent_of(t, level)
    if have is None:
        give(t, level, tangent)
    else:
        have.copy_(tangent)
        give(t, level, have)


def check_size(primal: Tensor, tangent: Tensor) -> None:
    """Refuse a tangent of another size."""
    if primal._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal._array.shape)} while the given forward gradient is of size "
            f"{list(tangent._array.shape)}."
        )


def laid_out_as(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent with the strides (and lazy bits) of the primal, so that views of both show corresponding parts."""
    wanted, have = primal.stride(), tangent.stride()
    if primal._backend.bits == tangent._backend.bits or not tangent._backend.strided:
        if wanted == have or not primal._array.size:
            return tangent
        if all([n == 1 or a == b for n, a, b in zip(primal._array.shape, wanted, have, strict=True)]):
            return tangent
    if any(s == 0 and n > 1 for n, s in zip(primal._array.shape, wanted, strict=True)):
        return tangent.contiguous()
    zeros = untouched(tangent)
    if not zeros:
        tangent = widened(tangent, primal)
    made = tangent.new_empty_strided(primal.shape, wanted)
    if made._backend.bare:
        made._backend = flipped(made._backend, primal._backend.bits)
    if zeros:
        made.zero_()._counter = Untouched()
        return made
    return made.copy_(tangent)


# ---- the forward derivative of an op


def forward(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any], in_place: bool = False
) -> Sequence[Tensor | None] | None:
    """The tangents of the results, None for those that have none; None in place of all when nothing moves them."""
    moving = [i for i, _ in op.rules if tangents[i] is not None and _any_moves(tangents[i])]
    if not moving or not any([_moves(r) for r in results]):
        return None
    if op.node_class.fails:
        raise NotImplementedError(f"Trying to use forward AD with aten::{op.signature.name} that does not support it.")
    if op.linear:
        return _beside_zeros(op, tangents, results, _apply_linear(op, primals, tangents))
    try:
        if isinstance(op, Elementwise) and op.diagonal and op.joint is None and len(results) == 1:
            found = _diagonal(op, moving, primals, tangents, results)
            if found is not None:
                return _beside_zeros(op, tangents, results, [found])
        return _transposed(op, primals, tangents, results)
    except NotImplementedError as error:  # so a formula says that there is none
        raise forward_not_implemented(op.signature.name, in_place) from error


def _beside_zeros(op: Op, tangents: Sequence[Any], results: Sequence[Any], found: list[Tensor]) -> list[Tensor]:
    """Tangents by formulas of several operands: PyTorch adds zeros for those that do not move, with their batches.

    In products and quotients, these are multiplied by what moves, whose history they have.
    """
    resting = [rule for i, rule in op.rules if tangents[i] is None]
    if op.linear is True or not resting:
        return found
    found = list(map(widened, found, results))
    multiplied = op.linear == "each" or (op.formulas is True and any([rule.saved for rule in resting]))
    return [_reaching(t, r) for t, r in zip(found, results)] if multiplied else found


def _reaching(tangent: Tensor, primal: Tensor) -> Tensor:
    """A tangent whose gradient reaches the primal, too: as zeros."""
    if not local.state.mode.grad or requires_grad(tangent) or not requires_grad(primal):
        return tangent
    return tangent.where(tangent.new_ones((), dtype=dt.bool_), primal)


def _any_moves(tangents: Any) -> bool:
    """Whether an operand, or one of a sequence, has a tangent."""
    return isinstance(tangents, TensorBase) or any([t is not None for t in tangents])


def _moves(result: Any) -> bool:
    return result is not None and result.dtype.category >= dt.FLOAT


def _listed(value: Any) -> Sequence[Any]:
    return value if value.__class__ is tuple or value.__class__ is list else (value,)


def _apply_linear(op: Op, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The op of the tangents: of all of them at once, or, for products, of one after the other."""
    differentiable = [i for i, _ in op.rules]
    if op.linear == "each":
        moving = [i for i in differentiable if tangents[i] is not None]
        terms = [op.apply(*primals[:i], tangents[i], *primals[i + 1 :]) for i in moving]
        return [sum(terms[1:], terms[0])]
    arguments = list(primals)
    for i in differentiable:
        if primals[i].__class__ is tuple or primals[i].__class__ is list:
            arguments[i] = tuple([_or_zeros(p, t) for p, t in zip(primals[i], tangents[i], strict=True)])
        else:
            arguments[i] = _or_zeros(primals[i], tangents[i])
    results = op.apply(*arguments)
    return list(results) if isinstance(results, tuple) else [results]


def _or_zeros(primal: Any, tangent: Any) -> Any:
    if tangent is not None:
        return tangent
    return zeros_like(primal) if isinstance(primal, TensorBase) else None if primal is None else 0


def _diagonal(
    op: Op, moving: Sequence[int], primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]
) -> Tensor | None:
    """The tangent by the formulas for gradients; None where these are not diagonal after all."""
    result = results[0]
    shape, d = result._array.shape, result.dtype
    if d.is_complex or any(p.dtype.is_complex for i in moving for p in tensors_in(primals[i])):
        return None
    total = None
    for i, rule in op.rules:
        g = tangents[i]
        if g is None:
            continue
        g = g if g.dtype is d else g.to(d)
        part = op.evaluate(rule, g, primals, results)
        if part is None:
            return None
        if part._array.shape != shape:
            if g._array.shape == shape:
                return None
            part = part.expand(shape)
        total = part if total is None else total + part
    return total if total is None or total.dtype is d else total.to(d)


def _transposed(op: Op, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The tangents as the derivative of the backward formulas with respect to the gradients they are given."""
    given = [t for i, _ in op.rules for t in _listed(tangents[i])]
    state = local.state
    outer = state.mode
    unseen = outer.but(saved_hooks=()) if outer.saved_hooks else outer  # what is kept here is kept for this alone
    node = state.within(unseen, _node, op, primals, results, [t is not None for t in given])
    gradients, found = state.within(with_grad(unseen, True), _applied, node, primals, results)
    roots = []
    for g, t in zip(found, given, strict=True):
        edge = None if g is None or t is None else resolve(g)
        if edge is not None:
            roots.append((edge, t.to(g.dtype)))
    goals = [g for g in gradients if g is not None]
    for g in goals:
        g._edge = None  # the tangents are linear in them, and have no history there
    differentiable = outer.grad and any(
        t._backend.home.level or requires_grad(t) for v in (*primals, *tangents) for t in tensors_in(v)
    )
    made = iter(engine.run(roots, goals, True, differentiable, accumulate=False))
    moved = [None if g is None else next(made) for g in gradients]
    return [zeros_like(r) if t is None and _moves(r) else t for r, t in zip(results, moved, strict=True)]


def _applied(node: Node, primals: Sequence[Any], results: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
    """Gradients of ones, as leaves, and what a node makes of them."""
    gradients = [_ones_for(r, results, primals) if _moves(r) else None for r in results]
    for g in gradients:
        if g is not None:
            g._edge = LEAF
    return gradients, node.apply(list(gradients))


def _node(op: Op, primals: Sequence[Any], results: Sequence[Any], needed: Sequence[bool]) -> Any:
    """The op's backward formulas, with all that they need of this call; `needed` says which gradients are wanted."""
    primals = [_counted(v) for v in primals]
    edges = tuple([n or None for n in needed])
    node = op.node_class(edges, tuple([form_of(r) for r in results]))
    node.operand_forms = op.operand_forms(primals, results, [None] * len(edges))
    op.save(node, primals, results)
    node.saved_entries = tuple([
        (results[at], version_of(results[at])) if is_result and entry is not None else entry
        for entry, (is_result, at, _) in zip(node.saved_entries, op._to_save, strict=True)
    ])  # fmt: skip
    return node


def _counted(value: Any) -> Any:
    """An argument that may be kept for now, made in inference mode or not."""
    if value.__class__ is tuple or value.__class__ is list:
        return type(value)([_counted(v) for v in value])
    if not isinstance(value, TensorBase) or value._counter is not UNVERSIONED:
        return value
    made = wrap(value._array, value.dtype, value._backend)
    made._counter = None
    return made


def _ones_for(result: Tensor, *others: Sequence[Any]) -> Tensor:
    """A gradient of ones, on the highest level in play: each level records operations on its own tensors."""
    home = result._backend.home
    ones = wrap(home.full(result._array.shape, 1, result.dtype.numpy), result.dtype, home)
    highest = max([t._backend.home for values in others for v in values for t in tensors_in(v)], key=_level)
    return highest.owner.wrap(highest.lift(ones)) if highest.level > ones._backend.level else ones


def _level(backend: Backend) -> int:
    return backend.level


def zeros_like(t: Tensor) -> Tensor:
    """Zeros for a tangent of `t`, of no batch as yet."""
    made = _zeros([], t._array.shape, t)
    made._counter = Untouched()
    return made


def zeros_beside(t: Tensor, shape: Sequence[int]) -> Tensor:
    """Zeros for every element of the batches that a tensor belongs to, and of no other level."""
    return _zeros(_batches(t), shape, t)


def widened(tangent: Tensor, primal: Tensor) -> Tensor:
    """A tangent that belongs to the batches of what it is for."""
    if primal._backend.home.level and set(_batches(primal)) - set(_batches(tangent)):
        return tangent + zeros_beside(primal, tangent._array.shape)
    return tangent


def _batches(t: Tensor) -> list[Any]:
    """The levels of `vmap` that a tensor belongs to, the outermost first."""
    found: list[Any] = []
    backend = t._backend.home
    while backend.level:
        if backend.owner.elements is not None:
            found.insert(0, backend.owner)
        backend = backend.inner
    return found


def _zeros(levels: Sequence[Any], shape: Sequence[int], like: Tensor) -> Tensor:
    backend = like._backend.home
    while backend.level:
        backend = backend.inner
    array = backend.full((*[level.elements for level in levels], *shape), 0, like.dtype.numpy)
    made = wrap(array, like.dtype, backend)
    for level in levels:
        made = level.batch(made)
    return made
