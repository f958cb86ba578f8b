"""The fast paths: calls on plain tensors of one dtype on one device.

Each function here makes the public function of an op. They are written flat on purpose, with no loops, helpers or
`*args`, since they are what a small model's step consists of. Whatever is rare leaves through `Op.call`.
An op has a fast path when it has `direct`, a table from the operands' common dtype to the result's for which its kernel
takes the arrays as they are.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from . import dtype as dt
from .mode import local
from .node import LEAF, UNVERSIONED, Counter, sequence
from .overrides import dispatch, needs_dispatch, public
from .saved import SavedNumber, SavedOutput
from .tensor import Tensor
from .view import NO_GRAD, ORDINARY, View, requires_grad, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_new = object.__new__
_ONE = 1  # the default of alpha; small ints are one object
PRECISE = frozenset((dt.float32, dt.float64))  # a Python float is an operand of these as it is
WHOLE = PRECISE | {dt.int64}  # and an int of these
_LOW, _HIGH = -1 << 63, 1 << 64  # which ints may be operands


def unary(op: Any) -> Callable[..., Any]:
    """A function of one tensor."""
    kernels, direct, new = op.kernels, op.direct, _new
    record = recorder(op) if op.recorded else None

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
                record(input, result)
            return result
        if mode.direct and out is None and input.__class__ is Tensor:
            return op.apply(input)
        return op.call(call, (input,), {} if out is None else {"out": out}, False)

    return call


def binary(op: Any) -> Callable[..., Any]:
    """A function of two operands, of which the second may be a number."""
    kernels, direct, new = op.kernels, op.direct, _new
    record = pair_recorder(op) if op.recorded else None
    numbers = op.signature.params[1].type == "Operand"
    others = op.signature.params[1].quick
    rest = [p.default for p in op.signature.params[2:]]

    def call(input: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and out is None and alpha is _ONE:
            try:
                backend = input.backend
                dtype = input.dtype
                kind = other.__class__
                if kind is float or kind is int:
                    if not numbers or not (
                        dtype in PRECISE if kind is float else dtype in WHOLE and _LOW <= other < _HIGH
                    ):
                        return op.call(call, (input, other), {}, False)
                    operand = other
                    edge = None
                elif other.backend is backend and other.dtype is dtype:
                    operand = other.array
                    edge = other.edge
                else:
                    return op.call(call, (input, other), {}, False)
                kernel = kernels[backend]
                dtype = direct[dtype]
                source = input.array
                array = state.quiet(kernel, source, operand)
                if array.__class__ is not backend.Array:
                    array = backend.asarray(array)
                if source.base is not None or (operand is not other and operand.base is not None):
                    array = op.arranged(array, (input, other))
            except (AttributeError, KeyError, OverflowError, ValueError):
                return op.call(call, (input, other), {}, False)
            result = new(Tensor)
            result.array = array
            result.dtype = dtype
            result.backend = backend
            result.edge = result.counter = result._grad = result.extra = None
            if (edge is not None or input.edge is not None) and record is not None and mode.grad:
                record(input, other, result, source, operand)
            return result
        if mode.direct and out is None and alpha is _ONE and input.__class__ is Tensor and other.__class__ in others:
            return op.apply(input, other, *rest)
        named = {} if out is None else {"out": out}
        if alpha is not _ONE:  # only add and sub have it; binding says so
            named["alpha"] = alpha
        return op.call(call, (input, other), named, False)

    return call


def binary_in_place(op: Any) -> Callable[..., Any]:
    """The in-place method of a function of two operands."""
    kernels, direct = op.kernels, op.direct
    # Whether the kernel takes the result's array as a third.
    writes = isinstance(op.kernel, str) and op.result in ("same", "float")
    scales = "alpha" in op.signature.by_name

    def call(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        state = local.state
        mode = state.mode
        if mode.plain and writes:
            try:
                backend = self.backend
                dtype = self.dtype
                array = self.array
                kind = other.__class__
                if kind is float or kind is int:
                    if not (dtype in PRECISE if kind is float else dtype in WHOLE and _LOW <= other < _HIGH):
                        return in_place(call, self, other, alpha)
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
                if alpha is not _ONE:
                    if not scales or operand is other or alpha.__class__ is not float or dtype not in PRECISE:
                        return in_place(call, self, other, alpha)
                    operand = state.quiet(operator.mul, operand, alpha)
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


def recorder(op: Any) -> Callable[[Tensor, Tensor], None]:
    """`Op.record` for one operand: flat where the derivative saves nothing but the operand or the result."""
    name = op.signature.params[0].name
    flat = set(op.saved_names) <= {name, "result"} and not op.value_names and not op.node_class.fails
    new, node_class = _new, op.node_class
    keeps_input, keeps_result = name in op.saved_names, "result" in op.saved_names

    def record_any(a: Tensor, result: Tensor) -> None:
        op.record((a,), (result,))

    def record(a: Tensor, result: Tensor) -> None:
        edge = a.edge
        if edge.__class__ is not tuple:
            edge = a if edge is LEAF else resolve(a)
        counter = a.counter
        dtype = result.dtype
        if edge is None or counter is UNVERSIONED or a.dtype is not dtype:
            record_any(a, result)
            return
        node = new(node_class)
        node.next_edges = (edge,)
        node.sequence_nr = next(sequence)
        node.node_hooks = node.node_metadata = node.operand_forms = None
        node.plain_values = ()
        node.output_forms = ((result.array.shape, dtype, result.backend),)
        kept = ((a, 0 if counter is None else counter.n),) if keeps_input else ()
        node.saved_entries = (*kept, SavedOutput(result, 0)) if keeps_result else kept
        result.edge = (node, 0)

    return record if flat else record_any


def pair_recorder(op: Any) -> Callable[[Tensor, Any, Tensor, Any, Any], None]:
    """`Op.record` for two operands: flat where both have a derivative and these save nothing but the operands."""
    first_name, second_name = [p.name for p in op.signature.params[:2]]
    flat = (
        len(op.rules) == 2
        and set(op.saved_names) <= {first_name, second_name}
        and set(op.value_names) <= {"alpha"}
        and first_name not in op.rules[0][1].names
        and second_name not in op.rules[1][1].names
        and not op.node_class.fails
    )
    new, node_class = _new, op.node_class
    number_class = dict(op.number_nodes).get(1, node_class)
    values = (1,) * len(op.value_names)
    rest = tuple([p.default for p in op.signature.params[2:]])
    keeps_first, keeps_second = first_name in op.saved_names, second_name in op.saved_names
    keeps_both = keeps_first and keeps_second
    first_leads = keeps_both and op.saved_names[0] == first_name

    def record_any(a: Tensor, b: Any, result: Tensor, source: Any, operand: Any) -> None:
        op.record((a, b, *rest), (result,))

    def record(a: Tensor, b: Any, result: Tensor, source: Any, operand: Any) -> None:
        first = a.edge
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
            second = b.edge
            if second.__class__ is not tuple and second is not None:
                second = b if second is LEAF else resolve(b)
            other = operand.shape
            counter = b.counter
        if (first is None and second is None) or counter is UNVERSIONED or a.counter is UNVERSIONED:
            record_any(a, b, result, source, operand)
            return
        node = new(number_class if number else node_class)
        node.next_edges = (first, second)
        node.sequence_nr = next(sequence)
        node.node_hooks = node.node_metadata = None
        node.plain_values = values
        result.edge = (node, 0)
        dtype = result.dtype
        if one == other:
            node.operand_forms = None
            if outputs is not None and len(outputs) == 1 and outputs[0][1] is dtype:
                node.output_forms = outputs  # the result has the form of the operand
            else:
                node.output_forms = ((one, dtype, result.backend),)
        else:
            shape = result.array.shape
            node.operand_forms = ((one, dtype), (other, dtype))
            node.output_forms = ((shape, dtype, result.backend),)
        kept_first = kept_second = None
        if keeps_second and first is not None:  # each operand is named by the other's derivative alone
            kept_second = SavedNumber(b) if number else (b, 0 if counter is None else counter.n)
        if keeps_first and second is not None:
            counter = a.counter
            kept_first = (a, 0 if counter is None else counter.n)
        if keeps_both:
            node.saved_entries = (kept_first, kept_second) if first_leads else (kept_second, kept_first)
        else:
            node.saved_entries = (kept_first,) if keeps_first else (kept_second,) if keeps_second else ()

    return record if flat else record_any


def backward_on_arrays(op: Any) -> Callable[..., Any]:
    """A node's `on_arrays`: its formulas run on arrays instead of tensors, for a backward pass that makes no graph.

    It takes the gradient of the one result and gives one for each edge, all arrays, or None where that will not do.
    """
    formulas = tuple([_on_numbers(rule, len(op.saved_names)) for _, rule in op.rules])

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Any:
        form = node.output_forms[0]
        saved = node.saved_entries
        inputs = node.operand_forms
        if saved.__class__ is not tuple or form[1] not in PRECISE or g.__class__ is not form[2].Array:
            return None
        if inputs is not None and not _of_dtype(inputs, form[1]):
            return None
        results: list[Any] = []
        for (fn, kept, sources), edge in zip(formulas, node.next_edges):
            if edge is None:
                if len(formulas) == 1:
                    return None  # the general way sees to what was saved all the same
                results.append(None)
            elif kept is None:
                results.append(g if fn is None else quiet(fn, *[_source(node, s, g) for s in sources]))
            else:
                entry = saved[kept]
                if entry.__class__ is tuple and entry[0].counter is not None and entry[0].counter.n != entry[1]:
                    return None  # the general way says what went stale
                results.append(quiet(fn, g, _source(node, kept, g)))
        return results if inputs is None else _summed(results, inputs, form[2], quiet)

    if [kept is None for _, kept, _ in formulas] != [False, False]:
        return on_arrays
    (first_fn, first_kept, _), (second_fn, second_kept, _) = formulas

    def product_on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Any:
        form = node.output_forms[0]
        saved = node.saved_entries
        inputs = node.operand_forms
        if saved.__class__ is not tuple or form[1] not in PRECISE or g.__class__ is not form[2].Array:
            return None
        if inputs is not None and not _of_dtype(inputs, form[1]):
            return None
        first, second = node.next_edges
        if first is not None:
            entry = saved[first_kept]
            if entry.__class__ is tuple:
                tensor, version = entry
                counter = tensor.counter
                if counter is not None and counter.n != version:
                    return None  # the general way says what went stale
                first = quiet(first_fn, g, tensor.array)
            else:
                first = quiet(first_fn, g, _source(node, first_kept, g))
        if second is not None:
            entry = saved[second_kept]
            if entry.__class__ is tuple:
                tensor, version = entry
                counter = tensor.counter
                if counter is not None and counter.n != version:
                    return None
                second = quiet(second_fn, g, tensor.array)
            else:
                second = quiet(second_fn, g, _source(node, second_kept, g))
        return (first, second) if inputs is None else _summed((first, second), inputs, form[2], quiet)

    return product_on_arrays


def gradients_on_arrays(op: Any, formula: Callable[..., Any]) -> None:
    """Let nodes of `op` run `formula(xp, g, edges, …)`, arrays to arrays, where no graph is asked for.

    The other parameters are named as in a derivative. It gives a gradient for each edge, None where the edge is None;
    the general derivative stays for all else.
    """
    names = formula.__code__.co_varnames[3 : formula.__code__.co_argcount]
    known = (*op.saved_names, *op.value_names)
    places = [known.index(name) for name in names]
    count = len(op.saved_names)

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Any:
        _, dtype, backend = node.output_forms[0]
        saved = node.saved_entries
        inputs = node.operand_forms
        if saved.__class__ is not tuple or dtype not in PRECISE or g.__class__ is not backend.Array:
            return None
        if inputs is not None and not _of_dtype(inputs, dtype):
            return None
        found: list[Any] = []
        for place in places:
            entry = node.plain_values[place - count] if place >= count else saved[place]
            if place < count and entry.__class__ is tuple:
                tensor, version = entry
                if tensor.counter is not None and tensor.counter.n != version:
                    return None  # the general way says what went stale
                entry = tensor.array
            elif place < count and entry is not None:
                value = node.read(entry)
                entry = value.array if isinstance(value, Tensor) else value
            found.append(entry)
        results = quiet(formula, backend.xp, g, node.next_edges, *found)
        return results if inputs is None else _summed(results, inputs, backend, quiet)

    op.node_class.on_arrays = on_arrays


def _of_dtype(inputs: tuple[Any, ...], dtype: Any) -> bool:
    """Whether all operands have this dtype, so that their gradients need no conversion."""
    return all([form is not None and form[1] is dtype for form in inputs])


# ops/reduce.py puts the kernel of a sum along dimensions here.
SUM: list[Callable[..., Any]] = []


def _summed(results: Sequence[Any], inputs: tuple[Any, ...], backend: Any, quiet: Callable[..., Any]) -> list[Any]:
    """Gradients summed along the dimensions that their operands were broadcast along."""
    found: list[Any] = []
    for array, (shape, *_) in zip(results, inputs):
        if array is not None and array.shape != shape:
            have = array.shape
            lead = len(have) - len(shape)
            axes = (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1 != have[lead + i]])
            array = quiet(SUM[0], backend.xp, array, axes, True).reshape(shape)
        found.append(array)
    return found


def spread_on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> list[Any] | None:
    """`on_arrays` for a sum of all elements: each gets the gradient."""
    form = node.output_forms[0]
    shape, dtype, _ = node.operand_forms
    if dtype is not form[1] or g.__class__ is not form[2].Array or not shape:
        return None
    return [form[2].spread(g, shape)]


def share_on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> list[Any] | None:
    """`on_arrays` for the mean of all elements: each gets its share of the gradient."""
    form = node.output_forms[0]
    shape, dtype, _ = node.operand_forms
    if dtype is not form[1] or dtype not in PRECISE or g.__class__ is not form[2].Array or not shape:
        return None
    share = quiet(operator.truediv, g, node.plain_values[0])
    return [form[2].spread(form[2].asarray(share), shape)]


class _Symbol:
    """Stands for an operand while a formula is looked at: what it does with it comes out as a tuple."""

    def __mul__(self, other: Any) -> tuple[Any, ...]:
        return operator.mul, self, other

    def __truediv__(self, other: Any) -> tuple[Any, ...]:
        return operator.truediv, self, other


def _on_numbers(rule: Any, count: int) -> tuple[Callable[..., Any] | None, int | None, tuple[int, ...]]:
    """What a formula does on real numbers: a function, which saved value it takes beside the gradient, its sources.

    `lambda g: g` is None, and `lambda g, other: g * conj(other)` is plain multiplication. Only a formula of the
    gradient and one saved value has the second.
    """
    fn, sources = rule.fn, rule.sources
    g, x = _Symbol(), _Symbol()
    if sources == (-1,):
        try:
            return (None if fn(g) is g else fn), None, sources
        except (AttributeError, TypeError):
            return fn, None, sources
    if len(sources) != 2 or sources[0] != -1 or not 0 <= sources[1] < count:
        return fn, None, sources
    try:
        done = fn(g, x)
    except (AttributeError, TypeError):
        done = None
    if done.__class__ is tuple and done[1:] == (g, x):
        fn = done[0]
    return fn, sources[1], sources


def _source(node: Any, source: int, g: Any) -> Any:
    """An argument of a formula, as an array or number."""
    if source == -1:
        return g
    if source >= len(node.saved_entries):
        return node.plain_values[source - len(node.saved_entries)]
    value = node.read(node.saved_entries[source])
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
        if mode.plain and not named and self.__class__ is Tensor:
            edge = self.edge
            if edge is None or (edge.__class__ is View and not requires_grad(self)):
                array = self.array
                if array.flags.c_contiguous and array.size:
                    asked = shape if len(shape) != 1 or shape[0].__class__ is int else shape[0]
                    try:
                        made = array.reshape(asked)
                    except (AttributeError, TypeError, ValueError):
                        return general(self, *shape)
                    form = made.shape
                    if form != asked and -1 not in asked:  # NumPy takes any negative size for -1
                        return general(self, *shape)
                    # Else NumPy's strides of dimensions of size one may be others.
                    if 1 not in array.shape or (array.strides[-1] == array.itemsize and form != array.shape):
                        return view_of_plain(self, made, (op, (form,)), mode.grad)
        args = (self, *shape)
        return dispatch(call, args, named) if needs_dispatch(args, named) else general(*args, **named)

    return call


def total(op: Any, general: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reduces a tensor to one number when it is called with nothing else: `x.sum()`."""
    kernels, direct, new, node_class = op.kernels, op.direct, _new, op.node_class
    record = op.record if op.recorded else None
    keeps_nothing = not op.saved_names and not op.value_names

    def call(input: Tensor, *args: Any, **named: Any) -> Any:
        state = local.state
        mode = state.mode
        if mode.plain and not args and not named:
            try:
                backend = input.backend
                kernel = kernels[backend]
                source_dtype = input.dtype
                dtype = direct[source_dtype]
            except (AttributeError, KeyError):
                return general(input)
            source = input.array
            array = state.quiet(kernel, source, None, False)
            if array.__class__ is not backend.Array:
                array = backend.asarray(array)
            result = new(Tensor)
            result.array = array
            result.dtype = dtype
            result.backend = backend
            result.edge = result.counter = result._grad = result.extra = None
            edge = input.edge
            if edge is not None and record is not None and mode.grad:
                if not keeps_nothing:
                    record((input, None), (result,))
                    return result
                if edge.__class__ is not tuple:
                    edge = input if edge is LEAF else resolve(input)
                if edge is None:
                    record((input, None), (result,))
                else:
                    node = new(node_class)
                    node.next_edges = (edge,)
                    node.sequence_nr = next(sequence)
                    node.node_hooks = node.node_metadata = None
                    node.plain_values = node.saved_entries = ()
                    node.output_forms = (((), dtype, backend),)
                    node.operand_forms = (source.shape, source_dtype, None)
                    result.edge = (node, 0)
            return result
        return general(input, *args, **named)

    public[general] = call
    return call
