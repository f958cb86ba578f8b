"""Forward differentiation: an array that is a tensor and its tangent, and `jvp`.

The tangent of an op's result follows from what the op declares:

- a linear op is applied to the tangents,
- the formulas of an elementwise op, whose Jacobian is diagonal, serve for tangents as for gradients,
- else the backward formulas, which are linear in the gradient, are themselves transposed by differentiating them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd import engine
from ..core import dtype as dt
from ..core.elementwise import Elementwise
from ..core.mode import local, with_grad
from ..core.node import LEAF, version_of
from ..core.operands import form_of, requires_grad, tensors_in
from ..core.tensor import Tensor, TensorBase, wrap
from ..core.view import View, resolve
from .transform import Level, Lifted, Transform
from .tree import flatten, rebuild, spec_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Dual(Lifted):
    """A tensor, and how it moves. What cannot be differentiated has no tangent."""

    __slots__ = ("main", "tangent")

    def __init__(self, primal: Tensor, tangent: Tensor | None) -> None:
        self.main = primal
        self.tangent = None if tangent is None else laid_out_as(primal, tangent)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.main.array.shape

    @property
    def steps(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.main.stride()


def laid_out_as(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent with the strides of the primal, so that views of both show corresponding parts."""
    wanted = primal.stride()
    sizes = zip(primal.array.shape, wanted, tangent.stride(), strict=True)
    if all(n == 1 or a == b for n, a, b in sizes) or not primal.array.size:
        return tangent
    if any(s == 0 and n > 1 for n, s in zip(primal.array.shape, wanted, strict=True)):
        return tangent.contiguous()
    return tangent.new_empty_strided(primal.shape, wanted).copy_(tangent)


class DualBackend(Transform):
    Array = Dual

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        primals = [self.each(v, self.primal) for v in values]
        results = op.apply(*primals)
        several = isinstance(results, tuple)
        listed = tuple(results) if several else (results,)
        tangents = forward(op, primals, [self.each(v, self.tangent) for v in values], listed)
        if tangents is not None:
            listed = tuple([
                r if t is None else self.owner.wrap(Dual(r, t)) for r, t in zip(listed, tangents, strict=True)
            ])  # fmt: skip
        return listed if several else listed[0]

    def each(self, value: Any, part: Callable[[Any], Any]) -> Any:
        if value.__class__ is tuple or value.__class__ is list:
            return value.__class__([part(v) for v in value])
        return part(value)

    def primal(self, value: Any) -> Any:
        array = self.owner.array_of(value)
        return value if array is None else array.main

    def tangent(self, value: Any) -> Tensor | None:
        array = self.owner.array_of(value)
        return None if array is None else array.tangent

    def map(self, array: Dual, f: Callable[[Tensor], Tensor]) -> Dual:
        primal = f(array.main)
        moves = array.tangent is not None and primal.dtype.category >= dt.FLOAT
        return Dual(primal, f(array.tangent) if moves else None)

    def lift(self, t: Tensor) -> Dual:
        return Dual(t, zeros_like(t) if t.dtype.category >= dt.FLOAT else None)

    def write(self, array: Dual, value: Dual) -> None:
        array.main.copy_(value.main)
        if array.tangent is not None:
            if value.tangent is None:
                array.tangent.zero_()
            else:
                array.tangent.copy_(value.tangent)

    def adopt(self, t: Tensor) -> None:
        self.owner.adopted.append(t)
        view = t.edge
        if view.__class__ is View:
            if view.base.backend.level < self.level:
                self.adopt(view.base)
            made = view.base
            for op, arguments in view.path:
                made = op.apply(made, *arguments)
            t.array, t.backend, t.edge, t.counter = made.array, made.backend, made.edge, made.counter
            return
        inside = t.alias()
        inside.edge = t.edge
        t.array = self.lift(inside)
        t.backend = self.owner.over(inside.backend)
        t.edge = None

    def as_strided(self, array: Dual, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Dual:
        return self.map(array, lambda t: t.as_strided(shape, strides, offset))

    def describe(self, array: Dual) -> str:
        return f"GradTrackingTensor(lvl={self.owner.depth}"


# ---- the forward derivative of an op


def forward(op: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]) -> Any:
    """The tangents of the results, None for those that have none; None in place of all when nothing moves them."""
    moving = [i for i, _ in op.rules if any(t is not None for t in _listed(tangents[i]))]
    if not moving or not any(_moves(r) for r in results):
        return None
    if op.linear:
        return _apply_linear(op, primals, tangents)
    if isinstance(op, Elementwise) and op.joint is None and len(results) == 1:
        found = _diagonal(op, moving, primals, tangents, results)
        if found is not None:
            return [found]
    return _transposed(op, primals, tangents, results)


def _moves(result: Any) -> bool:
    return result is not None and result.dtype.category >= dt.FLOAT


def _listed(value: Any) -> Sequence[Any]:
    return value if value.__class__ is tuple or value.__class__ is list else (value,)


def _apply_linear(op: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The op of the tangents: of all of them at once, or, for products, of one after the other."""
    differentiable = [i for i, _ in op.rules]
    if op.linear == "each":
        terms = []
        for i in differentiable:
            if tangents[i] is not None:
                terms.append(op.apply(*[tangents[i] if i == k else p for k, p in enumerate(primals)]))
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
    op: Any, moving: Sequence[int], primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]
) -> Tensor | None:
    """The tangent by the formulas for gradients; None where these are not diagonal after all."""
    result = results[0]
    shape, d = result.array.shape, result.dtype
    if d.is_complex or any(p.dtype.is_complex for i in moving for p in tensors_in(primals[i])):
        return None
    total = None
    for i in moving:
        node = _node(op, primals, results, [k == i for k, _ in op.rules])
        node.inputs = None  # which leaves the sum over what was broadcast to us
        g = tangents[i].to(d).expand(shape)
        part = next((p for p in node.apply([g]) if p is not None), None)
        if part is None or part.array.shape != shape:
            return None
        total = part if total is None else total + part
    return total if total is None or total.dtype is d else total.to(d)


def _transposed(op: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The tangents as the derivative of the backward formulas with respect to the gradients they are given."""
    given = [t for i, _ in op.rules for t in _listed(tangents[i])]
    node = _node(op, primals, results, [t is not None for t in given])
    state = local.state
    outer = state.mode
    state.mode = with_grad(outer, True)
    try:
        gradients = [_full_like(r, 1) if _moves(r) else None for r in results]
        for g in gradients:
            if g is not None:
                g.edge = LEAF
        found = node.apply(list(gradients))
    finally:
        state.mode = outer
    roots = []
    for g, t in zip(found, given, strict=True):
        edge = None if g is None or t is None else resolve(g)
        if edge is not None:
            roots.append((edge, t.to(g.dtype)))
    goals = [g for g in gradients if g is not None]
    differentiable = outer.grad and any(requires_grad(t) for v in (*primals, *tangents) for t in tensors_in(v))
    made = iter(engine.run(roots, goals, True, differentiable, accumulate=False))
    moved = [None if g is None else next(made) for g in gradients]
    return [zeros_like(r) if t is None and _moves(r) else t for r, t in zip(results, moved, strict=True)]


def _node(op: Any, primals: Sequence[Any], results: Sequence[Any], needed: Sequence[bool]) -> Any:
    """The op's backward formulas, with all that they need of this call; `needed` says which gradients are wanted."""
    node = op.node_class(tuple([n or None for n in needed]), tuple([form_of(r) for r in results]))
    op.save(node, primals, results)
    node.saved = tuple([
        (results[at], version_of(results[at])) if is_result and entry is not None else entry
        for entry, (is_result, at, _) in zip(node.saved, op._to_save, strict=True)
    ])  # fmt: skip
    return node


def _full_like(t: Tensor, value: int) -> Tensor:
    backend = t.backend.real
    return wrap(backend.full(t.array.shape, value, t.dtype.numpy), t.dtype, backend)


def zeros_like(t: Tensor) -> Tensor:
    return _full_like(t, 0)


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
    points, form = flatten(primals)
    directions, other = flatten(tangents)
    if form != other:
        raise RuntimeError(
            f"{where}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec_text(form)} and tangents "
            f"with structure {spec_text(other)}"
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
        outputs = func(*rebuild(form, moving))
        aux = ()
        if has_aux:
            if not (isinstance(outputs, tuple) and len(outputs) == 2):
                raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
            outputs, more = outputs
            leaves, aux_form = flatten(more)
            aux = (rebuild(aux_form, [_primal(level, leaf) for leaf in leaves]),)
        leaves, form = flatten(outputs)
        for leaf in leaves:
            if not isinstance(leaf, TensorBase):
                raise RuntimeError(
                    f"{where}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
                )
            if strict and level.array_of(leaf) is None:
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
        values = rebuild(form, [_primal(level, leaf) for leaf in leaves])
        moves = rebuild(form, [_tangent(level, leaf) for leaf in leaves])
    return values, moves, *aux


def _dual(primal: Tensor, tangent: Tensor) -> Dual:
    if primal.dtype.category < dt.FLOAT:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {primal.dtype!r}")
    if primal.array.shape != tangent.array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    return Dual(primal, tangent)


def _primal(level: Level, value: Any) -> Any:
    array = level.array_of(value)
    return value if array is None else array.main


def _tangent(level: Level, value: Tensor) -> Tensor:
    array = level.array_of(value)
    found = None if array is None else array.tangent
    return zeros_like(_primal(level, value)) if found is None else found
