"""What nodes do in a backward pass that makes no graph: from arrays to arrays, with no tensors in between.

A node's `on_arrays` takes the gradient of its one result and gives one for each edge, or None where that will not do
and the derivatives, which speak of tensors, have to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..state import local
from ..structs import know
from ..values import CPU, FLOAT, Backend, get_backend
from .fast import PRECISE
from .formulas import Symbol, as_code
from .tensor import Tensor


def backward_on_arrays(op: Any) -> Callable[..., Any]:
    """A node's `on_arrays`: its formulas, run on arrays."""
    formulas = tuple([_on_numbers(rule, len(op.saved_names)) for _, rule in op.rules])

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Any:
        form = node.output_forms[0]
        saved = node.saved_entries
        inputs = node.operand_forms
        if saved.__class__ is not tuple or form[1] not in PRECISE or g.__class__ is not form[2].Array:
            return None
        if inputs is not None and not _of_dtype(inputs, form[1]):
            return None
        quiet = form[2].follow or quiet
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
                if entry.__class__ is tuple and entry[0]._counter is not None and entry[0]._counter.n != entry[1]:
                    return None  # the general way says what went stale
                results.append(quiet(fn, g, _source(node, kept, g)))
        return results if inputs is None else _summed(results, inputs, form[2], quiet)

    return _product_backward(formulas) if [kept is None for _, kept, _ in formulas] == [False, False] else on_arrays


def _product_backward(formulas: Any) -> Callable[..., Any]:
    """The same for two operands whose formulas name one saved value each, unrolled."""
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
                counter = tensor._counter
                if counter is not None and counter.n != version:
                    return None  # the general way says what went stale
                first = quiet(first_fn, g, tensor._array)
            else:
                first = quiet(first_fn, g, _source(node, first_kept, g))
        if second is not None:
            entry = saved[second_kept]
            if entry.__class__ is tuple:
                tensor, version = entry
                counter = tensor._counter
                if counter is not None and counter.n != version:
                    return None
                second = quiet(second_fn, g, tensor._array)
            else:
                second = quiet(second_fn, g, _source(node, second_kept, g))
        return (first, second) if inputs is None else _summed((first, second), inputs, form[2], quiet)

    return product_on_arrays


def by_formula(formula: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """`on_arrays=` of an op whose nodes run `formula(xp, g, edges, …)`, arrays to arrays.

    The other parameters are named as in a derivative. It gives a gradient for each edge, None where the edge is None;
    the general derivative stays for all else.
    """
    return lambda op: _by_formula(op, formula)


def _by_formula(op: Any, formula: Callable[..., Any]) -> Callable[..., Any]:
    names = formula.__code__.co_varnames[3 : formula.__code__.co_argcount]
    known = (*op.saved_names, *op.value_names)
    places = tuple([(at, known.index(name)) for at, name in enumerate(names)])
    blank = [None] * len(names)

    def on_arrays(node: Any, g: Any, quiet: Callable[..., Any]) -> Any:
        _, dtype, backend = node.output_forms[0]
        inputs = node.operand_forms
        if dtype not in PRECISE or g.__class__ is not backend.Array:
            return None
        if inputs is not None and not _of_dtype(inputs, dtype):
            return None
        arguments = blank.copy()
        if not fetch(node, places, arguments, backend, dtype):
            return None
        results = quiet(formula, backend.xp, g, node.next_edges, *arguments)
        return results if inputs is None else _summed(results, inputs, backend, quiet)

    return on_arrays


def fetch(node: Any, places: Sequence[tuple[int, int]], arguments: list[Any], backend: Backend, dtype: Any) -> bool:
    """Put what a node has kept among a kernel's arguments: pairs say where, and which of `saved`, then of `values`.

    False where the general way is due: it unpacks, says what went stale, and converts.
    """
    saved = node.saved_entries
    if saved.__class__ is not tuple:
        return False
    count = len(saved)
    for at, place in places:
        if place >= count:
            arguments[at] = node.plain_values[place - count]
            continue
        value = saved[place]
        if value.__class__ is tuple:
            value, version = value
            if value._counter is not None and value._counter.n != version:
                return False
        elif value is not None:
            value = node.read(value)
        if isinstance(value, Tensor):
            if value._backend.real is not backend or (value.dtype is not dtype and value.dtype.category == FLOAT):
                return False
            value = value._array
        arguments[at] = value
    return True


def _of_dtype(inputs: tuple[Any, ...], dtype: Any) -> bool:
    """Whether all operands have this dtype, so that their gradients need no conversion."""
    return all([form is not None and form[1] is dtype for form in inputs])


def _summed(results: Sequence[Any], inputs: tuple[Any, ...], backend: Backend, quiet: Callable[..., Any]) -> list[Any]:
    """Gradients summed along the dimensions that their operands were broadcast along."""
    found: list[Any] = []
    for array, (shape, *_) in zip(results, inputs):
        if array is not None and array.shape != shape:
            have = array.shape
            lead = len(have) - len(shape)
            axes = (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1 != have[lead + i]])
            array = quiet(backend.sum, array, axes, True).reshape(shape)
        found.append(array)
    return found


def sum_to_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """A gradient of the CPU summed along the dimensions that its operand was broadcast along."""
    backend = get_backend(CPU)
    quiet = local.state.quiet
    return backend.asarray(_summed((array,), ((shape,),), backend, quiet)[0])


know(sum_to_shape=sum_to_shape)


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
    return [quiet(operator.truediv, form[2].spread(g, shape), math.prod(shape))]


def _on_numbers(rule: Any, count: int) -> tuple[Callable[..., Any] | None, int | None, tuple[int, ...]]:
    """What a formula does on real numbers: a function, which saved value it takes beside the gradient, its sources.

    `lambda g: g` is None, and `lambda g, other: g * conj(other)` is plain multiplication. Only a formula of the
    gradient and one saved value has the second.
    """
    fn, sources = rule.fn, rule.sources
    code = as_code(fn, [Symbol(s) for s in sources])
    kept = sources[1] if len(sources) == 2 and sources[0] == -1 and 0 <= sources[1] < count else None
    if code == (-1,):
        return None, kept, sources
    if kept is not None and code is not None and code[:-1] == (-1, kept):
        fn = _OPERATORS.get(code[-1], fn)
    return fn, kept, sources


_OPERATORS: dict[Any, Callable[..., Any]] = {np.multiply: operator.mul, np.divide: operator.truediv}


def _source(node: Any, source: int, g: Any) -> Any:
    """An argument of a formula, as an array or number."""
    if source == -1:
        return g
    if source >= len(node.saved_entries):
        return node.plain_values[source - len(node.saved_entries)]
    value = node.read(node.saved_entries[source])
    return value._array if isinstance(value, Tensor) else value
