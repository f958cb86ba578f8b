"""The fast paths: calls on plain tensors of one dtype on one device.

Each function here makes the public function of an op. They are written flat on purpose, with few helpers, no loops and
no `*args`, since they are what a small model's step consists of. Whatever is rare leaves through `Op.call`.
An op has a fast path when it has `direct`, a table from the operands' common dtype to the result's for which its kernel
takes the arrays as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from numpy import asarray, ufunc

from ..native import native
from ..state import local
from ..values import Array, Backend, dt, out_of_memory
from .node import LEAF, UNVERSIONED, Counter, sequence
from .out_forms import takes_out
from .overrides import public
from .saved import SavedNumber, SavedOutput
from .tensor import Tensor
from .view import INFERENCE, NO_GRAD, ORDINARY, View, resolve

_new = object.__new__
_ABSENT = object()  # stands for an argument that is not given
_ONE = 1  # the default of alpha; small ints are one object
PRECISE = frozenset((dt.float32, dt.float64))  # a Python float is an operand of these as it is
WHOLE = PRECISE | {dt.int64}  # and an int of these
_LOW, _HIGH = -1 << 63, 1 << 64  # which ints may be operands
LEAST, LARGEST = -float(1 << 63), float(1 << 63)  # numbers between are arrays for NumPy's functions, which is faster


def unary(op: Any, method: bool = False) -> Callable[..., Any]:
    """A function, or method, of one tensor."""
    kernels, direct = op.kernels, op.direct
    record = recorder(op) if op.recorded else None

    def call(input: Any = _ABSENT, *more: Any, out: Tensor | None = None) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and out is None and not more:
            try:
                backend = input._backend
                kernel = kernels[backend]
                dtype = direct[input.dtype]
            except (AttributeError, KeyError):
                pass
            else:
                source = input._array
                try:
                    array = state.quiet(kernel, source)
                except MemoryError as error:
                    raise out_of_memory(error) from None
                if array.__class__ is not source.__class__:
                    array = backend.asarray(array)
                elif source.base is not None and not array.flags.c_contiguous:
                    array = array[...]  # what is not row-major has a base
                result = _new(Tensor)
                result._array = array
                result._dtype = dtype
                result._backend = backend
                result._edge = result._counter = result._grad = result._extra = None
                if input._edge is not None and record is not None and mode.grad:
                    record(input, result)
                return result
        if mode.direct and out is None and input.__class__ is Tensor and not more:
            return op.apply(input)
        named = {} if out is None else {"out": out}
        return op.call(call, _given(op, named, input, *more), named, method)

    outs = _takes_out(op, method)
    made = call if outs else without(call, "out")
    return made if native is None else _native_unary(op, made, record, outs)


def binary(op: Any, method: bool = False) -> Callable[..., Any]:
    """A function, or method, of two operands, of which the second may be a number."""
    kernels, direct = op.kernels, op.direct
    record = pair_recorder(op) if op.recorded else None
    numbers = op.signature.params[1].type == "Operand"
    others = op.signature.params[1].quick | ({int} if numbers else set())
    rest = [p.default for p in op.signature.params[2:]]

    def call(
        input: Any = _ABSENT, other: Any = _ABSENT, third: Any = _ABSENT, *more: Any, alpha: Any = 1, out: Any = _ABSENT
    ) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and out is third and alpha is _ONE:  # both absent
            try:
                backend = input._backend
                dtype = input.dtype
                kind = other.__class__
                if kind is float or kind is int:
                    fits = numbers and (dtype in PRECISE if kind is float else dtype in WHOLE and _LOW <= other < _HIGH)
                    operand = other
                    edge = None
                else:
                    fits = other._backend is backend and other.dtype is dtype
                    operand = other._array
                    edge = other._edge
                if fits:
                    kernel = kernels[backend]
                    dtype = direct[dtype]
                    source = input._array
                    as_array = operand is other and kernel.__class__ is ufunc and LEAST < other < LARGEST
                    array = state.quiet(kernel, source, asarray(other, source.dtype) if as_array else operand)
                    if array.__class__ is not source.__class__:
                        array = backend.asarray(array)
                    if source.base is not None or (operand is not other and operand.base is not None):
                        array = op.arranged(array, (input, other))
            except (AttributeError, KeyError, MemoryError, OverflowError, ValueError):
                fits = False
            if fits:
                result = _new(Tensor)
                result._array = array
                result._dtype = dtype
                result._backend = backend
                result._edge = result._counter = result._grad = result._extra = None
                if (edge is not None or input._edge is not None) and record is not None and mode.grad:
                    record(input, other, result, source, operand)
                return result
        if mode.direct and out is third and alpha is _ONE and input.__class__ is Tensor and other.__class__ in others:
            return op.apply(input, other, *rest)
        named = {} if out is _ABSENT else {"out": out}
        if alpha is not _ONE:  # only add and sub have it; binding says so
            named["alpha"] = alpha
        return op.call(call, _given(op, named, input, other, third, *more), named, method)

    call.__code__ = _renamed(call.__code__, "other", op.signature.params[1].name)
    outs = _takes_out(op, method)
    made = call if outs else without(call, "out")
    if "alpha" not in op.signature.by_name:
        without(made, "alpha")
    return made if native is None else _native_binary(op, made, numbers, record, outs)


def _given(op: Any, named: dict[str, Any], first: Any, *rest: Any) -> tuple[Any, ...]:
    """The arguments of a call that are there. After a first one that is not, the others were given by name."""
    if first is not _ABSENT:
        return (first, *[value for value in rest if value is not _ABSENT])
    named |= {p.name: value for p, value in zip(op.signature.params[1:], rest) if value is not _ABSENT}
    return ()


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """The code of a function with a parameter of another name, by which it may be given."""
    return code.replace(co_varnames=tuple([new if name == old else name for name in code.co_varnames]))


def without(call: Any, option: str) -> Any:
    """A function without one of its options: nobody can give it by a name that is no identifier."""
    call.__code__ = _renamed(call.__code__, option, f"{option}=")
    call.__kwdefaults__ = {f"{n}=" if n == option else n: value for n, value in call.__kwdefaults__.items()}
    return call


def binary_in_place(op: Any) -> Callable[..., Any]:
    """The in-place method of a function of two operands."""
    kernels, direct = op.kernels, op.direct
    # Whether the kernel takes the result's array as a third.
    writes = isinstance(op.kernel, str) and op.result == "same"
    scales = "alpha" in op.signature.by_name
    numbers = op.signature.params[1].type == "Operand"

    def call(self: Tensor, other: Any = _ABSENT, third: Any = _ABSENT, *more: Any, alpha: Any = 1) -> Tensor:
        state = local.state
        mode = state.mode
        if mode.plain and writes and third is _ABSENT:
            try:
                backend = self._backend
                dtype = self.dtype
                array = self._array
                kind = other.__class__
                if kind is float or kind is int:
                    fits = numbers and (dtype in PRECISE if kind is float else dtype in WHOLE and _LOW <= other < _HIGH)
                    operand = other
                    edge = None
                else:
                    operand = other._array
                    edge = other._edge
                    counter = other._counter  # where it is the same, they may overlap
                    fits = (
                        other._backend is backend
                        and other.dtype is dtype
                        and (counter is None or counter is not self._counter)
                    )
                if alpha is not _ONE and fits:
                    fits = scales and operand is not other and alpha.__class__ is float and dtype in PRECISE
                    if fits and backend in kernels:
                        operand = state.quiet(operator.mul, operand, alpha)
                unrecorded = not mode.grad or self._edge is edge is None
                if fits and dtype in direct and 0 not in array.strides and unrecorded:
                    kernel = kernels[backend]
                    if operand is other and kernel.__class__ is ufunc and LEAST < other < LARGEST:
                        operand = asarray(other, array.dtype)
                    state.quiet(kernel, array, operand, array)
                    counter = self._counter
                    if counter is None:
                        counter = self._counter = Counter()
                    counter.n += 1
                    return self
            except (AttributeError, KeyError, MemoryError, OverflowError, ValueError):
                pass
        named = {} if alpha is _ONE else {"alpha": alpha}
        return op.call_in_place(call, _given(op, named, self, other, third, *more), named)

    if not scales:
        without(call, "alpha")
    if native is None or not writes:
        return call
    return accelerated(native.in_place, call, kernels, direct, numbers, False, False, None)


def accelerated(make: Callable[..., Any], general: Any, *data: Any) -> Callable[..., Any]:
    """A callable in C that computes the plain cases, and calls `general` in all others."""
    made = make(general, data)
    made.__name__ = general.__name__
    public[general] = made
    return made


def _takes_out(op: Any, method: bool) -> bool:
    return not method and takes_out(op.signature.name)


def _native_unary(op: Any, general: Any, record: Any, outs: bool) -> Callable[..., Any]:
    recipe = None if record is None else (record, op.node_class, op.node_class, (), _kept_of_one(op))
    return accelerated(native.unary, general, op.kernels, op.direct, False, False, outs, recipe)


def _native_binary(op: Any, general: Any, numbers: bool, record: Any, outs: bool) -> Callable[..., Any]:
    recipe = None
    if record is not None:
        number_class = dict(op.number_nodes).get(1, op.node_class)
        recipe = (record, op.node_class, number_class, (1,) * len(op.value_names), _kept_of_two(op))
    return accelerated(native.binary, general, op.kernels, op.direct, numbers, not op.elementwise, outs, recipe)


class Kept(NamedTuple):
    """Which operands and results the nodes of a function keep, where that is all that they do.

    One of two operands is kept always, or where the gradient of the other is asked for.
    """

    first: bool
    second: bool = False
    result: bool = False
    always_first: bool = False
    always_second: bool = False
    in_order: bool = True


def _kept_of_one(op: Any) -> Kept | None:
    """What nodes of a function of one tensor keep; None where that is more than it and the result."""
    name = op.signature.params[0].name
    if not set(op.saved_names) <= {name, "result"} or op.value_names or op.node_class.fails:
        return None
    return Kept(name in op.saved_names, result="result" in op.saved_names)


def recorder(op: Any, whole: bool = False) -> Callable[[Tensor, Tensor], None]:
    """`Op.record` for one operand: flat where the derivative saves nothing but the operand or the result.

    Of a reduction of a `whole` tensor to a number, nodes have the operand's form.
    """
    new, node_class = _new, op.node_class
    rest = (None,) * whole  # the dtype, which is not said

    def record_any(a: Tensor, result: Tensor) -> None:
        op.record((a, *rest), (result,))

    keeps = _kept_of_one(op)
    if keeps is None:
        return record_any
    keeps_input, keeps_result = keeps.first, keeps.result

    def record(a: Tensor, result: Tensor) -> None:
        edge = a._edge
        if edge.__class__ is not tuple:
            edge = a if edge is LEAF else resolve(a)
        counter = a._counter
        dtype = result.dtype
        if edge is None or counter is UNVERSIONED or (a.dtype is not dtype and not whole):
            record_any(a, result)
            return
        node = new(node_class)
        node.next_edges = (edge,)
        node.sequence_nr = next(sequence)
        node.node_hooks = node.node_metadata = None
        node.operand_forms = (a._array.shape, a.dtype, None) if whole else None
        node.plain_values = ()
        node.output_forms = ((result._array.shape, dtype, result._backend),)
        kept = ((a, 0 if counter is None else counter.n),) if keeps_input else ()
        node.saved_entries = (*kept, _saved_result(result)) if keeps_result else kept
        result._edge = (node, 0)

    return record


def _saved_result(result: Tensor) -> SavedOutput:
    """`SavedOutput` for the only result of a plain call, which nobody has seen yet."""
    saved = _new(SavedOutput)
    saved.output = saved.version = 0
    result._counter = Counter()
    saved.tensor = wrap_unmarked(result._array, result.dtype, result._backend)
    saved.tensor._counter = result._counter
    return saved


def _kept_of_two(op: Any) -> Kept | None:
    """What nodes of a function of two operands keep; None where one has no derivative, or these save more."""
    first, second = [p.name for p in op.signature.params[:2]]
    users = {name: users for name, (_, _, users) in zip(op.saved_names, op._to_save)}
    of_first, of_second = users.get(first, (1,)), users.get(second, (0,))
    known = set(op.saved_names) <= {first, second} and set(op.value_names) <= {"alpha"}
    if len(op.rules) != 2 or not known or 1 not in of_first or 0 not in of_second or op.node_class.fails:
        return None
    in_order = op.saved_names[:1] == (first,)
    return Kept(first in users, second in users, False, len(of_first) > 1, len(of_second) > 1, in_order)


def pair_recorder(op: Any) -> Callable[[Tensor, Any, Tensor, Any, Any], None]:
    """`Op.record` for two operands: flat where both have a derivative and these save nothing but the operands."""
    rest = tuple([p.default for p in op.signature.params[2:]])

    def record_any(a: Tensor, b: Any, result: Tensor, source: Any, operand: Any) -> None:
        op.record((a, b, *rest), (result,))

    kept = _kept_of_two(op)
    return record_any if kept is None else _flat_pair_recorder(op, record_any, kept)


def _flat_pair_recorder(op: Any, record_any: Any, kept: Kept) -> Callable[[Tensor, Any, Tensor, Any, Any], None]:
    keeps_first, keeps_second, _, always_first, always_second, first_leads = kept
    new, node_class = _new, op.node_class
    number_class = dict(op.number_nodes).get(1, node_class)
    values = (1,) * len(op.value_names)

    def record(a: Tensor, b: Any, result: Tensor, source: Any, operand: Any) -> None:
        first = a._edge
        outputs = None
        if first.__class__ is tuple:
            outputs = first[0].output_forms
            one = outputs[first[1]][0]
        else:
            one = source.shape
            if first is not None:
                first = a if first is LEAF else resolve(a)
        number = operand is b
        if number:
            second = counter = None
            other = one
        else:
            second = b._edge
            if second.__class__ is not tuple and second is not None:
                second = b if second is LEAF else resolve(b)
            other = operand.shape
            counter = b._counter
        if (first is None and second is None) or counter is UNVERSIONED or a._counter is UNVERSIONED:
            record_any(a, b, result, source, operand)
            return
        node = new(number_class if number else node_class)
        node.next_edges = (first, second)
        node.sequence_nr = next(sequence)
        node.node_hooks = node.node_metadata = None
        node.plain_values = values
        result._edge = (node, 0)
        dtype = result.dtype
        if one == other:
            node.operand_forms = None
            backend = result._backend
            if outputs is not None and len(outputs) == 1 and outputs[0][1] is dtype and outputs[0][2] is backend:
                node.output_forms = outputs  # the result has the form of the operand
            else:
                node.output_forms = ((one, dtype, backend),)
        else:
            shape = result._array.shape
            node.operand_forms = ((one, dtype), (other, dtype))
            node.output_forms = ((shape, dtype, result._backend),)
        kept_first = kept_second = None
        if keeps_second and (first is not None or always_second):
            kept_second = SavedNumber(b) if number else (b, 0 if counter is None else counter.n)
        if keeps_first and (second is not None or always_first):
            counter = a._counter
            kept_first = (a, 0 if counter is None else counter.n)
        if keeps_first and keeps_second:
            node.saved_entries = (kept_first, kept_second) if first_leads else (kept_second, kept_first)
        else:
            node.saved_entries = (kept_first,) if keeps_first else (kept_second,) if keeps_second else ()

    return record


def wrap_unmarked(array: Array, d: dt.dtype, backend: Backend) -> Tensor:
    """A plain tensor over an array, in a mode that is plain."""
    t = _new(Tensor)
    t._array = array
    t._dtype = d
    t._backend = backend
    t._edge = t._counter = t._grad = t._extra = None
    return t


def view_of_plain(source: Tensor, array: Array, step: tuple[Any, ...], grad: bool, kind: str = ORDINARY) -> Tensor:
    """A view without a history of its own: `array` shows part of its memory, `step` is how."""
    result = _new(Tensor)
    result._array = array
    result._dtype = source.dtype
    result._backend = source._backend
    result._grad = result._extra = None
    view = result._edge = _new(View)
    parent = source._edge
    view.edge = None
    if parent.__class__ is not View:
        counter = source._counter
        if counter is None:
            counter = source._counter = Counter()
        elif counter is UNVERSIONED:
            result._edge, result._counter = None, counter
            return result
        view.base = source
        view.kind = kind if grad else NO_GRAD
        view.path = (step,)
    else:
        counter = source._counter
        view.base = parent.base
        view.kind = parent.kind if grad or parent.kind is INFERENCE else NO_GRAD
        view.path = (*parent.path, step)
    view.seen = counter.n  # type: ignore[union-attr]
    result._counter = counter
    return result


def total(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reduces a tensor to one number when it is called with nothing else: `x.sum()`."""
    kernels, direct, node_class = op.kernels, op.direct, op.node_class
    record = recorder(op, whole=True) if op.recorded else None

    def call(input: Tensor, *args: Any, **named: Any) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and not args and not named:
            try:
                backend = input._backend
                kernel = kernels[backend]
                dtype = direct[input.dtype]
            except (AttributeError, KeyError):
                pass
            else:
                source = input._array
                array = state.quiet(kernel, source, None, False)
                if array.__class__ is not source.__class__:
                    array = backend.asarray(array)
                result = wrap_unmarked(array, dtype, backend)
                if record is not None and input._edge is not None and mode.grad:
                    record(input, result)
                return result
        return general(input, *args, **named)

    public[general] = call
    if native is None:
        return call
    recipe = None
    if record is not None:
        # What is noted: the operand's shape, for which None stands, and that the result is one number.
        values = tuple([None if name == "self_shape" else 1 for name in op.value_names])
        known = not op.value_names or op.value_names == ("self_shape", "result_numel")
        recipe = (record, node_class, node_class, values, (False,) * 6 if known and not op.saved_names else None)
    return accelerated(native.total, call, kernels, direct, False, False, False, recipe, general)
