"""Forward differentiation of custom Functions, by their `jvp`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

from ..core.machine import Tensor, TensorBase, View, base_of, form_of, wrap
from ..core.values import FLOAT
from .forward import at_each_level, check_size, give, move, owned, still

if TYPE_CHECKING:
    from ..core.machine import TangentLevel
    from .custom import BackwardCFunction


def zeros(form: Any) -> Tensor:
    """Zeros of a shape and dtype, on a backend."""
    shape, d, backend = form
    return wrap(backend.full(shape, 0, d.numpy), d, backend)


def tangents_by_jvp(
    ctx: BackwardCFunction, inputs: Sequence[Any], tangents: Sequence[Tensor | None], outputs: Sequence[Any],
    dirty: Set[int], fixed: Set[int],
) -> list[Tensor | None]:  # fmt: skip
    """The tangents of the outputs, as the user's `jvp` says. `dirty` and `fixed` are ids of outputs, see `Outcome`."""
    given = list(tangents)
    if ctx._materializes:
        given = [
            zeros(form_of(v)) if t is None and isinstance(v, TensorBase) else t
            for t, v in zip(tangents, inputs, strict=True)
        ]
    ctx.saved_for_forward = ctx.saved_for_forward or ()
    found = ctx._forward_cls.jvp(ctx, *given)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(found)})"
        )
    for at, t in enumerate(found):
        if t is not None and not isinstance(t, TensorBase):
            raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {at}.")
    own = {id(v): t for v, t in zip(inputs, tangents, strict=True) if t is not None}
    return [
        _checked(at, t, out, id(out) in fixed, own.get(id(out)) if id(out) in dirty else None)
        for at, (t, out) in enumerate(zip(found, outputs, strict=True))
    ]


def _checked(at: int, tangent: Any, output: Any, fixed: bool, written: Tensor | None) -> Tensor | None:
    """The tangent of output number `at`; `written` is the one that an input had which has been written to."""
    if not isinstance(output, TensorBase):
        return None
    if fixed or output.dtype.category < FLOAT:
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {at}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        return None
    if written is not None and tangent is not written:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if tangent is None or tangent.dtype.category < FLOAT:
        raise RuntimeError("Expected both tensor and its forward grad to be floating point or complex")
    check_size(output, tangent)
    return tangent


def push_tangents(
    ctx: BackwardCFunction, inputs: Sequence[Any], outputs: Sequence[Any], results: Sequence[Any], dirty: Set[int],
    fixed: Set[int],
) -> None:  # fmt: skip
    """Give the results, which stand for the outputs of forward, their tangents at every level where inputs move."""
    saved = ctx.saved_for_forward or ()
    made = {id(r) for r in results}

    def act(level: TangentLevel, tangents: list[Any]) -> None:
        ctx.saved_for_forward = tuple([still(t) if id(t) in made else t for t in saved])
        moved = tangents_by_jvp(ctx, inputs, tangents, outputs, dirty, fixed)
        for out, r, t in zip(outputs, results, moved, strict=True):
            if t is None:
                continue
            if id(out) in dirty:
                if not any([t is had for had in tangents]):
                    move(r, level, t)
            elif r._edge.__class__ is View:
                _check_view(t, tangents)
                give(r, level, t)
            else:
                give(r, level, owned(t, tangents))

    at_each_level(inputs, act)


def _check_view(tangent: Tensor, tangents: Sequence[Any]) -> None:
    """The tangent of a view shows that of the input viewed."""
    base = base_of(tangent)
    if base is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if not any([base is t or base is base_of(t) for t in tangents if t is not None]):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
        )
