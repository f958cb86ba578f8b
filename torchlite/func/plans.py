"""Plans of levels: what calls of one form come to for the tensors inside.

Which ops a batching rule calls follows from the form of a call. So it is run once more with each op noted, and later
calls of that form run these ops at once. (core/machine/plan.py tells of plans, and has those of plain tensors.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.declare import Op, ViewOp
from ..core.machine import PLAIN, UNVERSIONED, Tensor, dated, form_of_call, tensors_in, wrap
from ..core.machine.noted import Unplannable
from ..core.machine.plan import UNKNOWN, Plans, filler, places, plan_steps
from ..core.machine.recipe import Bound, Record
from ..core.machine.view import NO_GRAD, view_of
from ..core.native import native
from ..core.state import State, local
from ..core.values.errors import unheard

if TYPE_CHECKING:
    from .transform import Level


def by_plan(
    plans: Plans, find: Callable[..., Any], general: Callable[..., Any], made: Any, args: Any, kwargs: Any
) -> Any:
    """A call on tensors of levels of what `planned` made of `find` and `general`, by a plan where there is one."""
    state = local.state
    level = level_of((*args, *kwargs.values()) if kwargs else args)
    if level is None or not level.plans or not level.running or state.adopted:
        return general(*args, **kwargs)
    tensors: list[Tensor] = []
    form: list[Any] = []
    of_values = form_of_call(innermost((*args, *kwargs.items()) if kwargs else args, tensors, form), [])
    if of_values is None or any([t._counter is UNVERSIONED for t in tensors]):
        return general(*args, **kwargs)
    key = (of_values, *form)
    plan = plans.get(key, UNKNOWN)
    if plan and plan is not UNKNOWN and level.may_run(tensors):
        if native is not None and hasattr(plan, "native"):
            native.remember(made, args, kwargs, plan, plan.native)
        return plan(state, level, tensors)
    results = general(*args, **kwargs)
    if plan is not False:
        plans.note(key, lambda: unheard(lambda: _plan(find, level, args, kwargs)), plan)
    return results


def innermost(values: Sequence[Any], tensors: list[Tensor], form: list[Any]) -> tuple[Any, ...]:
    """Arguments with the tensors of devices in place of those of levels, which are added to `tensors`.

    What levels make of them is added to `form`.
    """
    found = []
    for value in values:
        if value.__class__ in PLAIN:
            tensors.append(value)
            form.append(None)
            while value._backend.owner is not None:
                array = value._array
                form += value._backend.owner.depth, array.mark
                value = array.main
        elif value.__class__ is tuple or value.__class__ is list:
            value = value.__class__(innermost(value, tensors, form))
        found.append(value)
    return tuple(found)


def level_of(values: Sequence[Any]) -> Level | None:
    """The level begun last of those that tensors among arguments belong to."""
    found, last = None, 0
    for value in values:
        for t in (value,) if value.__class__ in PLAIN else tensors_in(value):
            if t._backend.level > last:
                found, last = t._backend.owner, t._backend.level
    return found


def _plan(find: Callable[..., Any], level: Level, args: Any, kwargs: Any) -> Any:
    """The plan of a call on tensors of a level; None where there is none."""
    tensors: list[Tensor] = []
    args = _on_stand_ins(level, args, tensors)
    found = find(args, {name: _on_stand_ins(level, (v,), tensors)[0] for name, v in kwargs.items()})
    if found.__class__ is not tuple or len(found) != 2:
        return None
    op, values = found
    if not isinstance(op, Op) or op.check_of_each(values) or op.finish is not None or op.returns is not None:
        return None
    insides = [level.inside(t) for t in tensors]
    try:
        steps = level.steps(op, values, insides)
    except Unplannable:
        return None
    operands = places(values, tensors)
    run = steps and operands and plan_steps(steps, insides)
    if not run or not operands:
        return None
    made = level.run_inside(local.state, run, insides)
    if made.__class__ is not Tensor:
        return None
    record = level.recorder(op, values, operands, tensors, level.above(made))
    return lifting(op, values, filler(values, operands, len(tensors)), run, record)


def lifting(
    op: Any, values: Sequence[Any], bound: Bound, run: Callable[..., Tensor], record: Record | None
) -> Callable[..., Tensor]:
    """The plan that makes what `run` gives of the tensors inside one of the level: for a view op, a view."""
    view, tail = isinstance(op, ViewOp), tuple(values[1:])

    def plan(state: State, level: Level, tensors: Sequence[Tensor]) -> Tensor:
        serial, grad = level.serial, state.mode.grad
        insides = [t._array.main if t._backend.level == serial else t for t in tensors]
        result = level.above(level.run_inside(state, run, insides))
        if record is not None and grad:
            record(tensors, bound, result)
        if view:
            edge = result._edge = view_of(tensors[0], result._edge, op.kind if grad else NO_GRAD, op, tail)
            result._counter = edge.base._counter
        return result if state.levels[-1] is level else dated(result)

    if not (view and (op.reinterprets or op.name == "as_strided")):  # whose views may be settled anew
        plan.native = (*run.native, (op, tail) if view else None, record, bound)  # type: ignore[attr-defined]
    return plan


def _on_stand_ins(level: Level, values: Sequence[Any], tensors: list[Tensor]) -> tuple[Any, ...]:
    """Arguments with a tensor without history, made for it alone, in place of each; they are added to `tensors`."""
    made = []
    for value in values:
        if value.__class__ in PLAIN:
            own = level.array_of(value)
            inside = value if own is None else own.main
            stand_in = wrap(inside._array, inside.dtype, inside._backend)
            value = stand_in if own is None else level.wrap(own.over(stand_in))
            tensors.append(value)
        elif value.__class__ is tuple or value.__class__ is list:
            value = value.__class__(_on_stand_ins(level, value, tensors))
        made.append(value)
    return tuple(made)
