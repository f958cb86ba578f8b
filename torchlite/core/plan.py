"""Plans: what calls of one form come to, worked out once.

`x.sum(1)` or `x.transpose(0, 1)` on plain tensors of one shape, layout and dtype is always the same: the same overload,
the same dimensions, the same result dtype. The first such call goes the general way and leaves a plan, a function
`run(state, mode, source)`; later ones find it by their form and only compute, wrap and record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fast import view_of_plain
from .mode import local
from .tensor import Tensor, wrap_shown
from .view import View, requires_grad

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 4096  # forms of call of one function; a program that has more gains nothing from plans
_PLAIN = frozenset((int, bool, float, str, type(None)))

Plan = Any  # a function (state, mode, source) giving the results


def planned(find: Callable[[Any, Any], Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`general` by way of plans. `find(args, kwargs)` is what it comes to: an op and its bound arguments, or None."""
    plans: dict[Any, Plan] = {}

    def call(*args: Any, **kwargs: Any) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and args and args[0].__class__ is Tensor:
            source, *rest = args
            array = source.array
            try:
                if kwargs:
                    rest += kwargs.items()
                form = (source.backend, source.dtype, array.shape, array.strides, *rest, *[v.__class__ for v in rest])
                plan = plans.get(form)
            except (AttributeError, TypeError):  # an array without strides, a list among the arguments
                form = plan = None
            if plan is not None:
                return plan(state, mode, source)
            result = general(*args, **kwargs)
            if form is not None and len(plans) < _MOST and all([_plain(v) for v in (*args[1:], *kwargs.values())]):
                found = find(args, kwargs)
                plan = found and found[0].plan(found[1])
                if plan is not None:
                    plans[form] = plan
            return result
        return general(*args, **kwargs)

    return call


def _plain(value: Any) -> bool:
    """Whether an argument is a value that says all of itself."""
    return value.__class__ in _PLAIN or (value.__class__ is tuple and all([v.__class__ is int for v in value]))


def plan_view(op: Any, values: Any) -> Plan | None:
    """The plan of a view op."""
    source, *tail = values
    backend = source.backend
    if backend is not backend.home or not backend.strided or not source.array.size:
        return None
    kernel, check, apply, step = op.kernels[backend], op.check, op.apply, (op, tuple(tail))
    array = kernel(source.array, *tail)
    if array.__class__ is not backend.Array or array.dtype != source.array.dtype:
        return None
    shown = wrap_shown(array, source.dtype, backend).backend

    def run(state: Any, mode: Any, source: Tensor) -> Tensor:
        edge = source.edge
        if edge is not None and (edge.__class__ is not View or requires_grad(source)):
            return apply(source, *tail)
        if check is not None:
            check(source, *tail)
        result = view_of_plain(source, kernel(source.array, *tail), step, mode.grad)
        result.backend = shown
        return result

    return run


def plan_along(op: Any, values: Any) -> Plan | None:
    """The plan of an op along dimensions of one tensor."""
    source, *tail = values
    backend = source.backend
    if backend is not backend.home or backend.level or not source.array.ndim:
        return None
    (array, *arguments), out_dtype = op.prepare(values, backend)
    if array is not source.array:
        return None
    kernel, check, wrap_results, returns = op.kernels[backend], op.check, op.wrap_results, op.returns
    record = op.record if op.recorded else None

    def run(state: Any, mode: Any, source: Tensor) -> Any:
        if check is not None:
            check(source, *tail)
        results = wrap_results(state.quiet(kernel, source.array, *arguments), out_dtype, backend)
        if source.edge is not None and mode.grad and record is not None:
            record((source, *tail), results if results.__class__ is tuple else (results,))
        return results if returns is None else returns(results)

    return run
