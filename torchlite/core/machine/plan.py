"""Plans: what calls of one form come to, worked out once.

`x.softmax(1)` or `torch.cat([x, y])` on plain tensors of one shape, layout and dtype is always the same: the same
overload, the same dimensions, the same result dtype, the same node but for what it keeps. When a form is met a second
time, it gets a plan, a function `run(state, mode, tensors)`; later calls find it by their form and only compute, wrap
and record.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..native import native
from ..state import local
from ..structs import Defaults
from ..values import Backend, Size, memory_format
from ..values.device import device
from ..values.dtype import dtype
from ..values.errors import unheard
from ..values.layout import layout
from .fast import accelerated
from .node import UNVERSIONED
from .operands import common_backend
from .overrides import PLAIN
from .recipe import recorder
from .remembered import Places, forget, in_steps, knowing, of_kernel, remember
from .tensor import Tensor, wrap

_MOST = 1024  # forms of call of one function that are remembered at a time
_TRIED = 16  # calls without a plan, after which none is looked for where no form had one
_VALUES = frozenset((int, bool, float, complex, str, type(None), device, dtype, layout, memory_format))
_SEQUENCES = frozenset((tuple, list, Size))
_DEVICES = (0,)  # their level

Plan = Any  # a function (state, mode, tensors) giving the results


def form_of_call(values: Sequence[Any], tensors: list[Tensor], levels: Collection[int] = ()) -> tuple[Any, ...] | None:
    """What tells calls apart: the form of each tensor, which is added to `tensors`, and each plain value.

    None where there is anything else, a tensor above the devices but for these levels, or one made in inference mode.
    """
    form: list[Any] = []
    for value in values:
        kind = value.__class__
        if kind is Tensor or kind in PLAIN:
            level = value._backend.level
            if value._counter is UNVERSIONED or (level and level not in levels):
                return None
            array = value._array
            try:
                form += value._backend, value.dtype, array.shape, array.strides
            except AttributeError:  # an array without strides
                return None
            tensors.append(value)
        elif kind in _VALUES:
            form += value, kind
            if not value and (kind is float or kind is complex):
                form.append(str(value))  # zeros are equal whatever their signs
        elif kind in _SEQUENCES:
            inner = form_of_call(value, tensors, levels)
            if inner is None:
                return None
            form += kind, inner
        else:
            return None
    return tuple(form)


class Plans:
    """The plans of one function, by form; for a form met once, None, and False for one that cannot be planned.

    Tensors have forms on the devices, and on `levels` that do not end.
    """

    __slots__ = ("by_form", "era", "failed", "get", "known", "levels")

    def __init__(self, levels: Collection[int] = ()) -> None:
        self.levels = levels
        self.era = Defaults.era
        self.failed: float = 0  # calls that had no plan, as long as no form has one
        self.by_form: dict[Any, Plan] = {}
        self.get = self.by_form.get
        self.known: list[Any] = []  # without the native build: the functions that know calls again (remembered.py)

    def knowing(self, general: Callable[..., Any]) -> Any:
        """A function that knows calls again that are remembered, and leaves others to `general`: no native one."""
        made = knowing(general, self)
        self.known.append(made)
        return made

    def renew(self) -> None:
        """Forget the plans of an era that has ended."""
        self.era = Defaults.era
        self.forget()

    def forget(self) -> None:
        self.by_form.clear()
        for function in self.known:
            forget(function)

    def remember(self, function: Callable[..., Any], args: Any, kwargs: Any, plan: Plan, in_native: Any) -> None:
        """Let calls of the function that are like this one find their plan at once."""
        if native is None:
            remember(function, args, kwargs, plan)
        else:
            native.remember(function, args, kwargs, plan, in_native)

    def met(self, form: Any, tensors: Sequence[Tensor], make: Callable[[], Plan | None], plan: Any) -> None:
        """Remember a form whose plan so far is `plan` (`UNKNOWN` if it is new), and plan it the second time."""
        if not {t._backend.level for t in tensors}.difference(_DEVICES, self.levels):  # it would keep one that ends
            self.note(form, make, plan)

    def note(self, form: Any, make: Callable[[], Plan | None], plan: Any) -> None:
        if plan is UNKNOWN:
            if len(self.by_form) >= _MOST:
                self.forget()
            self.by_form[form] = None
        elif plan is None:
            made = self.by_form[form] = make() or False
            if made:
                self.failed = -math.inf


UNKNOWN = object()


def planned(
    find: Callable[[Any, Any], Any], general: Callable[..., Any], plans: Plans | None = None, in_place: bool = False
) -> Callable[..., Any]:
    """`general` by way of plans, which calls in place have on plain tensors alone.

    `find(args, kwargs)` is what it comes to: an op and its bound arguments, a list of such steps, or None.
    """
    plans = plans or Plans()
    get = plans.get

    def call(*args: Any, **kwargs: Any) -> Any:
        state = local.state
        mode = state.mode
        if plans.era is not Defaults.era:
            plans.renew()
        if mode.plain and plans.failed < _TRIED and "out" not in kwargs:
            tensors: list[Tensor] = []
            form = form_of_call((*args, *kwargs.items()) if kwargs else args, tensors, plans.levels)
            if form is not None and tensors:
                plan = get(form)
                if plan:
                    results = plan(state, mode, tensors)
                    plans.remember(made, args, kwargs, plan, getattr(plan, "native", None))
                    return results
                results = general(*args, **kwargs)
                if plan is False:
                    plans.failed += 1
                else:
                    plan = get(form, UNKNOWN)
                    plans.met(form, tensors, lambda: unheard(lambda: _of_call(find, args, kwargs, results)), plan)
                return results
        elif state.levels and mode.beneath is not None and not in_place and "out" not in kwargs:
            return state.levels[-1].by_plan(plans, find, general, made, args, kwargs)
        return general(*args, **kwargs)

    made = plans.knowing(call) if native is None else accelerated(native.planned, call, in_place)
    return made


def _of_call(find: Callable[[Any, Any], Any], args: tuple[Any, ...], kwargs: Any, results: Any) -> Plan | None:
    """The plan of a call that gave `results`."""
    stand_ins: list[Tensor] = []
    found = find(_replaced(args, stand_ins), {name: _replaced((v,), stand_ins)[0] for name, v in kwargs.items()})
    if found is None:
        return None
    if found.__class__ is list:
        return plan_steps(found, stand_ins)
    op, values, *which = found
    return op.plan(values, stand_ins, op.apply(*values), *which) if which else op.plan(values, stand_ins, results)


def _replaced(values: Any, stand_ins: list[Tensor]) -> tuple[Any, ...]:
    """Arguments with a tensor without history, made for it alone, in place of each tensor; each has its own array."""
    made = []
    for value in values:
        if value.__class__ in PLAIN:
            array = value._array
            if any([t._array is array for t in stand_ins]):
                array = array[...]
            value = wrap(array, value.dtype, value._backend)
            stand_ins.append(value)
        elif value.__class__ in _SEQUENCES:
            value = value.__class__(_replaced(value, stand_ins))
        made.append(value)
    return tuple(made)


# ---- of an op


def plan_op(
    op: Any, values: Sequence[Any], tensors: list[Tensor], results: Any, which: int | None = None
) -> Plan | None:
    """The plan of an op whose kernel takes the arrays of its tensors as they are; `which` of its results is wanted."""
    if (ready := op.ready(values, tensors)) is None:
        return None
    backend, kernel, arguments, out_dtype = ready
    operands, sources = places(values, tensors), places(arguments, [t._array for t in tensors])
    if operands is None or sources is None:
        return None
    wrap_results = op.wrap_results
    returns = op.returns if which is None else operator.itemgetter(which)
    check = op.check_of_each(values)
    record = recorder(op, values, operands, tensors, results) if op.recorded else None
    single = results.__class__ is Tensor
    known: Any = _known((results,) if single else results)
    blank = [None] * len(tensors)
    template = filler(arguments, sources, len(tensors))(blank)
    bound = filler(values, operands, len(tensors))
    after = _after(op.finish, returns, bound)

    def settle(outputs: Any, tensors: Sequence[Tensor]) -> Any:
        """Lay results out as they should lie; once a kernel's do so by themselves, it is settled that they do."""
        laid = op.arranged(outputs, bound(tensors))
        if _same(outputs, laid):
            settled: Any = itself()
            settled.__globals__["settled"] = True
            if in_native:
                settled.native = in_native
        return laid

    run = of_kernel(
        bound(blank), operands, template, sources, len(tensors), known, None if op.finish else which,
        kernel=kernel, single=single, check=check, bound=bound, settle=settle,
        array_class=backend.Array, asarray=backend.asarray, wrap_results=wrap_results, out_dtype=out_dtype,
        backend=backend, record=record, finish=op.finish, returns=returns,
    )  # fmt: skip
    singles = [(at, which) for at, which in sources if which.__class__ is int]
    sequences = [(at, which) for at, which in sources if which.__class__ is not int]
    itself = weakref.ref(run)  # so that a plan that is dropped goes at once
    in_native = known is not None and (
        kernel, tuple(template), tuple(singles), tuple(sequences), not single, *map(tuple, zip(*known)),
        lambda outputs: wrap_results(outputs, out_dtype, backend), record, bound,
        check and (lambda tensors: check(*bound(tensors))), after,
    )  # fmt: skip
    return run


def kernel_alone(kernel: Any, arguments: tuple[Any, ...], d: dtype, numpy_type: Any, backend: Backend) -> Any:
    """The plan, for the native build, of a kernel that takes no tensors and gives one array."""
    return kernel, arguments, (), (), False, (d,), (numpy_type,), lambda made: wrap(made, d, backend), *(None,) * 4


def one_backend(op: Any, values: Sequence[Any], tensors: list[Tensor]) -> Backend | None:
    """The device that all tensors of a call are on; None where there are several, or a form does not decide."""
    backend = common_backend(op, values)
    if backend.level or any([t._backend.real is not backend for t in tensors]):
        return None
    if op.promoted is not None and not any([isinstance(values[i], Tensor) for i in op.promoted]):
        return None  # the default dtype decides
    return backend


def _after(finish: Any, returns: Any, bound: Any) -> Callable[[Any, Sequence[Tensor]], Any] | None:
    """The last step: the op's `finish` and `returns` on wrapped results."""
    if finish is None:
        return returns and (lambda results, tensors: returns(results))
    if returns is None:
        return lambda results, tensors: finish(results, bound(tensors))
    return lambda results, tensors: returns(finish(results, bound(tensors)))


def _same(made: Any, outputs: Any) -> bool:
    """Whether a kernel's results were left as they are."""
    several = made.__class__ is tuple or made.__class__ is list
    return all(map(operator.is_, made, outputs)) if several else made is outputs


Known = list[tuple[dtype, Any]] | None  # the dtypes of results that may be wrapped as they come


def _known(results: Sequence[Any]) -> Known:
    return None if any([r is None for r in results]) else [(r.dtype, r._array.dtype) for r in results]


def places(among: Sequence[Any], wanted: Sequence[Any]) -> Places | None:
    """Where each of the objects `wanted` stands: a place and its number, or a place and the numbers of a sequence.

    None where one stands in no place, or in several, or a sequence has others in it.
    """
    numbers = {id(one): k for k, one in enumerate(wanted)}
    found: list[tuple[int, Any]] = []
    missing = set(numbers)
    for at, value in enumerate(among):
        items = value if value.__class__ is tuple or value.__class__ is list else (value,)
        known = [id(v) for v in items if id(v) in numbers]
        if not known:
            continue
        if len(known) != len(items) or not missing.issuperset(known) or len(set(known)) < len(known):
            return None
        missing.difference_update(known)
        which = [numbers[one] for one in known]
        found.append((at, which[0] if items is not value else tuple(which)))
    return None if missing or len(numbers) < len(wanted) else found


def filler(values: Sequence[Any], places: Places, count: int) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that gives `values` with tensors at their places."""

    def filled(tensors: Sequence[Any]) -> list[Any]:
        made = blank.copy()
        for at, which in places:
            made[at] = tensors[which] if which.__class__ is int else tuple([tensors[k] for k in which])
        return made

    blank = list(values)
    blank = filled([None] * count)
    return filled


# ---- of several ops, one after the other


class Made(NamedTuple):
    """The result of an earlier step, as an argument of a later one."""

    step: int


def plan_steps(steps: Sequence[tuple[Any, ...]], tensors: list[Tensor]) -> Plan | None:
    """The plan of a composite: for each step an op (or function), its arguments, and which result if it has several."""
    done = []
    for op, values, *which in steps:
        call, values = op.as_step(values) if hasattr(op, "as_step") else (op, values)
        found: list[tuple[int, Any]] = []
        for at, value in enumerate(values):
            if isinstance(value, (Tensor, Made)):
                found.append((at, _number(value, tensors)))
            elif value.__class__ is tuple and any([isinstance(item, (Tensor, Made)) for item in value]):
                found.append((at, tuple([_number(item, tensors) for item in value])))
        filled = dict(found)
        if any([n is None or (n.__class__ is tuple and None in n) for n in filled.values()]):
            return None
        template = tuple([None if at in filled else value for at, value in enumerate(values)])
        done.append((call, template, tuple(found), *which))

    run = in_steps(done, len(tensors))
    run.native = tuple(done), len(tensors)
    return run


def _number(value: Tensor | Made, tensors: list[Tensor]) -> int | None:
    """Where a step finds an operand: among the tensors of the call, or after them, what earlier steps made."""
    if value.__class__ is Made:
        return value.step + len(tensors)
    return next((k for k, t in enumerate(tensors) if t is value), None)
