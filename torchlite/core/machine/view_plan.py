"""Plans of views: what is shown of a tensor's memory, for calls of one form."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..state import Mode, State, local
from ..values import CPU, Array
from .fast import view_of_plain
from .node import Counter
from .plan import Plan
from .recipe import recorder
from .tensor import Tensor, wrap_shown
from .view import NO_GRAD, ORDINARY, View, requires_grad


def plan_view(op: Any, values: Sequence[Any], tensors: list[Tensor], results: Any) -> Plan | None:
    """The plan of a view op."""
    source, *tail = values
    backend = source._backend.real
    if len(tensors) > 1 or backend is not backend.home or not backend.strided or not source._array.size:
        return None
    if op.reinterprets:
        return None  # the path of a view is settled before
    kernel, check, step = op.kernel_on(backend), op.check, (op, tuple(tail))
    array = kernel(source._array, *tail)
    if array.__class__ is list:
        return _plan_views(op, values, array, tensors, results)
    if array.__class__ is not backend.Array or array.dtype != source._array.dtype:
        return None
    path, dtype, new = (step,), source.dtype, object.__new__
    shown = wrap_shown(array, dtype, backend)._backend
    ordinary = op.rules and op.kind == ORDINARY
    record = recorder(op, values, [(0, 0)], tensors, results) if ordinary else None
    in_general, bound = _with_rest(op, tail)

    def run(state: State, mode: Mode, tensors: Sequence[Tensor]) -> Tensor:
        source = tensors[0]
        edge, grad = source._edge, mode.grad
        if checks:
            check(source, *tail)
        if edge is not None and grad and (requires_grad(source) if edge.__class__ is View else record is None):
            return in_general(source)
        if edge.__class__ is View:
            result = view_of_plain(source, make(source._array), step, grad)
            result._backend = shown
            return result
        counter = source._counter
        if counter is None:
            counter = source._counter = Counter()
        result = new(Tensor)
        result._array = make(source._array)
        result._dtype = dtype
        result._backend = shown
        result._edge = result._grad = result._extra = None
        result._counter = counter
        if edge is not None and grad:
            record(tensors, bound, result)  # type: ignore[misc]
        view = new(View)
        view.edge, result._edge = result._edge, view
        view.base = source
        view.kind = ORDINARY if grad else NO_GRAD
        view.path = path
        view.seen = counter.n
        return result

    checks = check is not None and not op.checks_form
    make = _by_kernel(kernel, tail)
    if backend.device == CPU and array.base is not None and not checks:
        offset = backend.pointer(array) - backend.pointer(source._array)
        run.native = (step, in_general, array.shape, array.strides, offset, dtype, shown, record, bound)  # type: ignore[attr-defined]
        make = _maker(source._array, array) or make
    return run


def _plan_views(op: Any, values: Sequence[Any], arrays: list[Any], tensors: list[Tensor], results: Any) -> Plan | None:
    """The plan of a view op that gives several views, of a tensor that is none."""
    source, *tail = values
    backend, dtype = source._backend.real, source.dtype
    if not arrays or any([a.base is None or a.dtype != source._array.dtype or not a.size for a in arrays]):
        return None
    step, kind = (op, tuple(tail)), op.kind
    shown = [wrap_shown(a, dtype, backend)._backend for a in arrays]
    record = recorder(op, values, [(0, 0)], tensors, results) if op.rules else None

    in_general, bound = _with_rest(op, tail)

    def run(state: State, mode: Mode, tensors: Sequence[Tensor]) -> Any:
        source = tensors[0]
        grad = mode.grad
        if checks:
            op.check(source, *tail)
        recorded = grad and source._edge is not None
        if source._edge.__class__ is View or (recorded and record is None):
            return in_general(source)
        results = tuple([view_of_plain(source, array, step, grad, kind) for array in make(source._array)])
        if recorded:
            views = [r._edge for r in results]
            record(tensors, bound, results)  # type: ignore[misc]
            for r, view in zip(results, views):
                view.edge, r._edge = r._edge, view
        for r, b in zip(results, shown):
            r._backend = b
        return results

    checks = op.check is not None and not op.checks_form
    make: Callable[[Array], Any] = _by_kernel(op.kernel_on(backend), tail)
    if backend.device == CPU and not checks:
        place = backend.pointer
        start = place(source._array)
        pieces = tuple([(a.shape, a.strides, place(a) - start, b) for a, b in zip(arrays, shown)])
        run.native = (step, in_general, kind, pieces, dtype, record, bound)  # type: ignore[attr-defined]
        makers: list[Any] = [_maker(source._array, a) for a in arrays]
        if all(makers):
            make = lambda array: [each(array) for each in makers]
    return run


def _with_rest(op: Any, tail: Sequence[Any]) -> tuple[Callable[[Tensor], Any], Callable[[Sequence[Tensor]], Any]]:
    """What gives an op the arguments that follow its tensor: as it runs in general, and as it is recorded."""

    def in_general(source: Tensor) -> Any:
        state = local.state
        return op.run_generally(state, state.mode, (source, *tail))

    def bound(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        return (*tensors, *tail)

    return in_general, bound


def _by_kernel(kernel: Callable[..., Any], tail: Sequence[Any]) -> Callable[[Array], Any]:
    return lambda array: kernel(array, *tail)


def _maker(source: Array, view: Array) -> Callable[[Array], Array] | None:
    """The fastest way to make such a view of arrays of the form of `source`; None where only the kernel knows one."""

    def place(array: Array) -> tuple[Any, ...]:
        return array.shape, array.strides, array.__array_interface__["data"][0]

    ways: list[Callable[[Any], Any]] = [operator.attrgetter("T")]
    offset = place(view)[2] - place(source)[2]
    first = offset // source.strides[0] if source.ndim and source.strides[0] else -1
    if 0 <= first < len(source):
        some = slice(first, first + len(view)) if view.ndim == source.ndim else (first, ...)
        ways.append(operator.itemgetter(some))
    ways += [operator.methodcaller("swapaxes", *pair) for pair in itertools.combinations(range(source.ndim), 2)]
    if view.size == source.size:
        ways.append(operator.methodcaller("reshape", view.shape))
    if source.flags.c_contiguous and view.size:
        shape, dtype, strides = view.shape, view.dtype, view.strides
        ways.append(lambda array: np.ndarray(shape, dtype, array, offset, strides))
    return next((way for way in ways if place(way(source)) == place(view)), None)
