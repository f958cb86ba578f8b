"""The fast paths: calls on plain tensors of one dtype on one device.

Each function here makes the public function of an op. They are written flat on purpose, with no loops, helpers or
`*args`, since they are what a small model's step consists of. Whatever is rare leaves through `Op.call`.
An op has a fast path when it has `direct`, a table from the operands' common dtype to the result's for which its kernel
takes the arrays as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import dtype as dt
from .mode import local
from .node import LEAF, UNVERSIONED, Counter, sequence
from .operands import SavedNumber
from .overrides import PLAIN, dispatch, needs_dispatch, public
from .tensor import Tensor
from .view import NO_GRAD, ORDINARY, View, requires_grad, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

_new = object.__new__
_ONE = 1  # the default of alpha; small ints are one object
PRECISE = frozenset((dt.float32, dt.float64))  # a Python float is an operand of these as it is
WHOLE = PRECISE | {dt.int64}  # and an int of these


def unary(op: Any) -> Callable[..., Any]:
    """A function of one tensor."""
    kernels, direct, new = op.kernels, op.direct, _new
    record = op.record if op.recorded else None

    def call(input: Tensor, *, out: Tensor | None = None) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and out is None:
            try:
                backend = input.backend
                kernel = kernels[backend]
                dtype = direct[input.dtype]
            except (AttributeError, KeyError):
                return op.call(call, (input,), {}, False)
            array = state.quiet(kernel, input.array)
            if array.__class__ is not backend.Array:
                array = backend.asarray(array)
            result = new(Tensor)
            result.array = array
            result.dtype = dtype
            result.backend = backend
            result.edge = result.counter = result._grad = result.extra = None
            if input.edge is not None and record is not None and mode.grad:
                record((input,), (result,))
            return result
        return op.call(call, (input,), {} if out is None else {"out": out}, False)

    return call


def binary(op: Any) -> Callable[..., Any]:
    """A function of two operands, of which the second may be a number."""
    kernels, direct, new = op.kernels, op.direct, _new
    record = pair_recorder(op) if op.recorded else None
    numbers = op.signature.params[1].type == "Operand"

    def call(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and out is None and alpha is _ONE:
            try:
                backend = input.backend
                dtype = input.dtype
                kind = other.__class__
                if numbers and (dtype in PRECISE if kind is float else kind is int and dtype in WHOLE):
                    operand = other
                    edge = None
                elif other.backend is backend and other.dtype is dtype:
                    operand = other.array
                    edge = other.edge
                else:
                    return op.call(call, (input, other), {}, False)
                kernel = kernels[backend]
                dtype = direct[dtype]
                array = state.quiet(kernel, input.array, operand)
            except (AttributeError, KeyError, OverflowError, ValueError):
                return op.call(call, (input, other), {}, False)
            if array.__class__ is not backend.Array:
                array = backend.asarray(array)
            result = new(Tensor)
            result.array = array
            result.dtype = dtype
            result.backend = backend
            result.edge = result.counter = result._grad = result.extra = None
            if (edge is not None or input.edge is not None) and record is not None and mode.grad:
                record(input, other, result)
            return result
        named = {} if out is None else {"out": out}
        if alpha is not _ONE:  # only add and sub have it; binding says so
            named["alpha"] = alpha
        return op.call(call, (input, other), named, False)

    return call


def binary_in_place(op: Any) -> Callable[..., Any]:
    """The in-place method of a function of two operands."""
    kernels, direct = op.kernels, op.direct
    writes = isinstance(op.kernel, str) and op.result in ("same", "float")  # the kernel takes the result's array as a third

    def call(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        state = local.state
        mode = state.mode
        if mode.plain and writes and alpha is _ONE:
            try:
                backend = self.backend
                dtype = self.dtype
                array = self.array
                kind = other.__class__
                if dtype in PRECISE if kind is float else kind is int and dtype in WHOLE:
                    operand = other
                    edge = None
                elif other.backend is backend and other.dtype is dtype:
                    operand = other.array
                    edge = other.edge
                    counter = other.counter
                    if counter is not None and counter is self.counter:  # they may overlap
                        return in_place(call, self, other, alpha)
                else:
                    return in_place(call, self, other, alpha)
                if dtype in direct and 0 not in array.strides and (not mode.grad or self.edge is edge is None):
                    state.quiet(kernels[backend], array, operand, array)
                    counter = self.counter
                    if counter is None:
                        counter = self.counter = Counter()
                    counter.n += 1
                    return self
            except (AttributeError, KeyError, OverflowError, ValueError):
                pass
        return in_place(call, self, other, alpha)

    def in_place(function: Callable[..., Any], self_: Tensor, other: Any, alpha: Any) -> Tensor:
        named = {} if alpha is _ONE else {"alpha": alpha}
        if needs_dispatch((self_, other), {}):
            return dispatch(function, (self_, other), named)
        return op.apply_in_place(op.bind((self_, other), named, True))

    return call


def pair_recorder(op: Any) -> Callable[[Tensor, Any, Tensor], None]:
    """`Op.record` for two operands: flat where both have a derivative and these save nothing but the operands."""
    first_name, second_name = [p.name for p in op.signature.params[:2]]
    flat = (
        len(op.rules) == 2
        and set(op.saved_names) <= {first_name, second_name}
        and set(op.value_names) <= {"alpha"}
        and first_name not in op.rules[0][1].names
        and second_name not in op.rules[1][1].names
    )
    node_class = op.node_class
    number_class = dict(op.number_nodes).get(1, node_class)
    values = (1,) * len(op.value_names)
    rest = tuple([p.default for p in op.signature.params[2:]])
    keeps_first, keeps_second = first_name in op.saved_names, second_name in op.saved_names
    keeps_both = keeps_first and keeps_second
    first_leads = keeps_both and op.saved_names[0] == first_name

    def record_any(a: Tensor, b: Any, result: Tensor) -> None:
        op.record((a, b, *rest), (result,))

    def record(a: Tensor, b: Any, result: Tensor) -> None:
        first = a.edge
        if first.__class__ is not tuple and first is not None:
            first = a if first is LEAF else resolve(a)
        shape = result.array.shape
        dtype = result.dtype
        kind = b.__class__
        number = kind is float or kind is int
        if number:
            second = None
            other = shape
            counter = None
        else:
            second = b.edge
            if second.__class__ is not tuple and second is not None:
                second = b if second is LEAF else resolve(b)
            other = b.array.shape
            counter = b.counter
        if (first is None and second is None) or counter is UNVERSIONED or a.counter is UNVERSIONED:
            record_any(a, b, result)
            return
        node = _new(number_class if number else node_class)
        node.edges = (first, second)
        node.seq = next(sequence)
        node.hooks = node.metadata_ = None
        node.values = values
        node.outputs = ((shape, dtype, result.backend),)
        result.edge = (node, 0)
        one = a.array.shape
        node.inputs = None if one == shape == other else ((one, dtype), (other, dtype))
        kept_first = kept_second = None
        if keeps_second and first is not None:  # each operand is named by the other's derivative alone
            if number:
                kept_second = SavedNumber(b)
            else:
                kept_second = (b, 0 if counter is None else counter.n)
        if keeps_first and second is not None:
            counter = a.counter
            kept_first = (a, 0 if counter is None else counter.n)
        if keeps_both:
            node.saved = (kept_first, kept_second) if first_leads else (kept_second, kept_first)
        else:
            node.saved = (kept_first,) if keeps_first else (kept_second,) if keeps_second else ()

    return record if flat else record_any


def backward_on_arrays(op: Any) -> Callable[..., Any]:
    """A node's `on_arrays`: its formulas run on arrays instead of tensors, for a backward pass that makes no graph.

    It takes the gradient of the one result and gives one for each edge, all arrays, or None where that will not do.
    """
    rules = tuple([(rule.fn, rule.sources, _pattern(rule.fn, rule.sources, len(op.saved_names))) for _, rule in op.rules])

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> list[Any] | None:
        form = node.outputs[0]
        if node.inputs is not None or form[1] not in PRECISE or g.__class__ is not form[2].Array:
            return None
        saved = node.saved
        if saved is None:
            return None
        results = []
        for (fn, sources, kept), edge in zip(rules, node.edges):  # noqa: B905
            if edge is None:
                results.append(None)
            elif kept == -1:
                results.append(g)
            elif kept is None:
                results.append(quiet(fn, *[_source(node, s, g) for s in sources]))
            else:
                entry = saved[kept]
                if entry.__class__ is not tuple:
                    results.append(quiet(fn, g, _source(node, kept, g)))
                    continue
                tensor, version = entry
                counter = tensor.counter
                if counter is not None and counter.n != version:
                    return None  # the general way says what went stale
                results.append(quiet(fn, g, tensor.array))
        return results

    return on_arrays


def spread_on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> list[Any] | None:
    """`on_arrays` for a sum of all elements: each gets the gradient."""
    form = node.outputs[0]
    shape, dtype, _ = node.inputs
    if dtype is not form[1] or g.__class__ is not form[2].Array or not shape:
        return None
    return [form[2].lay(g, shape, (0,) * len(shape))]


def _pattern(fn: Callable[..., Any], sources: tuple[int, ...], count: int) -> int | None:
    """Which saved value a formula takes beside the gradient; -1 for `lambda g: g`, None for all else."""
    if sources == (-1,) and fn(_ONE) is _ONE:
        return -1
    return sources[1] if len(sources) == 2 and sources[0] == -1 and 0 <= sources[1] < count else None


def _source(node: Any, source: int, g: Any) -> Any:
    """An argument of a formula, as an array or number."""
    if source == -1:
        return g
    if source >= len(node.saved):
        return node.values[source - len(node.saved)]
    value = node.read(node.saved[source])
    return value.array if isinstance(value, Tensor) else value


def view_of_plain(source: Tensor, array: Any, step: tuple[Any, ...], grad: bool) -> Tensor:
    """A view of a tensor without history: `array` shows part of its memory, `step` is how."""
    result = _new(Tensor)
    result.array = array
    result.dtype = source.dtype
    result.backend = source.backend
    result._grad = result.extra = None
    view = result.edge = _new(View)
    parent = source.edge
    view.edge = None
    if parent is None:
        counter = source.counter
        if counter is None:
            counter = source.counter = Counter()
        elif counter is UNVERSIONED:
            result.edge, result.counter = None, counter
            return result
        view.base = source
        view.kind = ORDINARY if grad else NO_GRAD
        view.path = (step,)
    else:
        counter = source.counter
        view.base = parent.base
        view.kind = parent.kind if grad else NO_GRAD
        view.path = (*parent.path, step)
    view.seen = counter.n
    result.counter = counter
    return result


def reshape(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a view op that takes a shape, spread or not: `x.view(2, 8)`, `x.reshape((2, 8))`."""

    def call(self: Tensor, *shape: Any, **named: Any) -> Any:
        mode = local.state.mode
        if mode.plain and not named and self.__class__ in PLAIN:
            edge = self.edge
            if edge is None or (edge.__class__ is View and not requires_grad(self)):
                array = self.array
                if array.flags.c_contiguous and array.size:
                    asked = shape if len(shape) != 1 or shape[0].__class__ is int else shape[0]
                    try:
                        made = array.reshape(asked)
                    except (TypeError, ValueError):
                        return general(self, *shape)
                    if made.shape != asked and -1 not in asked:  # NumPy takes any negative size for -1
                        return general(self, *shape)
                    # Else NumPy's strides of dimensions of size one may be others.
                    if 1 not in array.shape or (array.strides[-1] == array.itemsize and made.shape != array.shape):
                        return view_of_plain(self, made, (op, (made.shape,)), mode.grad)
        args = (self, *shape)
        return dispatch(call, args, named) if needs_dispatch(args, named) else general(*args, **named)

    return call


def total(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reduces a tensor to one number when it is called with nothing else: `x.sum()`."""
    kernels, direct = op.kernels, op.direct
    record = op.record if op.recorded else None

    def call(input: Tensor, *args: Any, **named: Any) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and not args and not named:
            try:
                backend = input.backend
                kernel = kernels[backend]
                dtype = direct[input.dtype]
            except (AttributeError, KeyError):
                return general(input)
            array = state.quiet(kernel, input.array, None, False)
            if array.__class__ is not backend.Array:
                array = backend.asarray(array)
            result = _new(Tensor)
            result.array = array
            result.dtype = dtype
            result.backend = backend
            result.edge = result.counter = result._grad = result.extra = None
            if input.edge is not None and record is not None and mode.grad:
                record((input, None), (result,))
            return result
        return general(input, *args, **named)

    public[general] = call
    return call
