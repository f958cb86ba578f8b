"""Tangents: how tensors move, at each open level of forward differentiation.

A tensor that moves at a level has its tangent in `extra.tangents`. A view without one gets, when it is asked for, the
part that it shows of its base's. A tangent lies in memory as its tensor does, so that views of both correspond.

The level knows who has tangents of it, and takes them away when it ends: then the tensors are as plain as ever.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..state import local
from ..values import FLOAT
from .node import Counter
from .operands import tensors_in
from .registry import registry
from .view import View

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_base import Extra


class TangentLevel:
    """A level of forward differentiation, open in this thread from `begin` to `end`."""

    def __init__(self) -> None:
        self.holders: weakref.WeakSet[Extra] = weakref.WeakSet()

    def begin(self) -> None:
        state = local.state
        state.mode = state.mode.but(levels=(*state.mode.levels, self))

    def end(self) -> None:
        state = local.state
        mode = state.mode
        if self in mode.levels:
            state.mode = mode.but(levels=tuple([level for level in mode.levels if level is not self]))
        for extra in self.holders:
            if extra.tangents is not None:
                extra.tangents.pop(self, None)

    def of(self, t: Tensor) -> Tensor | None:
        """How `t` moves at this level; None if it does not."""
        return tangent_of(t, self)

    def follow(self, op: Any, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Give the results of an op their tangents, at every level that is open."""
        raise NotImplementedError

    def follow_in_place(self, op: Any, target: Tensor, before: Tensor, values: Sequence[Any], node: Any) -> None:
        """Give what an op has written to, in a step of history `node`, its new tangents; `before` is what it was."""
        raise NotImplementedError


class Untouched(Counter):
    """The counter of a tangent of zeros. What is first written to it decides which batches it belongs to."""

    __slots__ = ()

    born = math.inf


def untouched(tangent: Tensor) -> bool:
    return tangent._counter.__class__ is Untouched and not tangent._counter.n


def tangent_of(t: Tensor, level: TangentLevel) -> Tensor | None:
    """How `t` moves at a level; None if it does not."""
    extra = t._extra
    if extra is not None and extra.tangents is not None and level in extra.tangents:
        return extra.tangents[level]
    base = moving_base(t)
    whole = None if base is None else tangent_of(base, level)
    if whole is None:
        return None
    part = _part(whole, t, t._edge)
    if part.dtype.category < FLOAT:
        return None
    set_tangent(t, level, part)
    return part


def set_tangent(t: Tensor, level: TangentLevel, tangent: Tensor) -> None:
    extra = t._more()
    if extra.tangents is None:
        extra.tangents = {}
    extra.tangents[level] = tangent
    level.holders.add(extra)


def tangents_of(t: Tensor) -> Iterator[tuple[TangentLevel, Tensor]]:
    """The tangents of `t` at the levels that are open and switched on."""
    for level in local.state.mode.moving:
        tangent = tangent_of(t, level)
        if tangent is not None:
            yield level, tangent


def hold(before: Tensor, values: Sequence[Any]) -> None:
    """Make `before` what the first operand is now, in memory of its own, and let it move likewise.

    That operand will be written to before the tangents are computed, if any operand moves.
    """
    if any(moves(t) for value in values for t in tensors_in(value)):
        before._array = before._backend.copy(before._array)
        before._counter = None
    for level, tangent in tangents_of(values[0]):
        set_tangent(before, level, tangent.clone())


def moves(t: Tensor) -> bool:
    return any(True for _ in tangents_of(t))


def stop(t: Tensor) -> None:
    """From now on `t` moves at no level."""
    if t._extra is not None and t._extra.tangents:
        t._extra.tangents.clear()


def moving_base(t: Tensor) -> Tensor | None:
    """The tensor whose tangent holds that of the view `t`; the operands of `make_dual` move by themselves."""
    view = t._edge
    return view.base if view.__class__ is View and not any([op.still for op, _ in view.path]) else None


def part_in_memory(whole: Tensor, base: Tensor, t: Tensor) -> Tensor:
    """The part of the tangent of `base` that lies in memory where `t` lies in that of `base`."""
    backend = t._backend.real
    offset = backend.offset(t._array) - backend.offset(base._array) + whole.storage_offset()
    return registry["as_strided"].apply(whole, tuple(t._array.shape), backend.strides(t._array), offset)


def _part(whole: Tensor, t: Tensor, view: View) -> Tensor:
    """The part of a base's tangent that the view `t` shows."""
    backend = t._backend.real
    if backend.strided and backend is view.base._backend.real and t.dtype is view.base.dtype:
        return part_in_memory(whole, view.base, t)
    for op, arguments in view.path:
        whole = op.apply(whole, *arguments)
    return whole
