"""Formulas as data: what a derivative does to numbers, for the native build's backward loop (src/native/program.c).

A formula is run on `Symbol`s, which write down what is done to them: sources first, then the instruction that takes
them. A source is -1 for the gradient, or counts what nodes saved, then what they noted. A formula that does more than
a symbol knows has no such form, and is run as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..native import native

Code = tuple[Any, ...]


def _binary(ufunc: np.ufunc) -> tuple[Callable[..., Symbol], Callable[..., Symbol]]:
    return (lambda a, b: a.then(ufunc, b)), (lambda b, a: Symbol(*code_of(a), *b.code, ufunc))


class Symbol:
    """An operand that remembers how it came about."""

    __slots__ = ("code",)

    def __init__(self, *code: Any) -> None:
        self.code = code

    def then(self, instruction: Any, *operands: Any) -> Symbol:
        return Symbol(*self.code, *[part for operand in operands for part in code_of(operand)], instruction)

    @property
    def T(self) -> Symbol:
        return self.then("T")

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.divide)

    def __matmul__(self, other: Symbol) -> Symbol:
        return self.then("dot", other)

    def __neg__(self) -> Symbol:
        return self.then(np.negative)

    def sum_rows(self) -> Symbol:
        """The sum along the first dimension of a matrix."""
        return self.then("sum_rows")

    def by_rows(self, stride: Symbol) -> Symbol:
        """The gradient of a matrix, unless that lies by columns, as its gradient is to."""
        return self.then("by_rows", float(stride.code[0]))

    def spread(self) -> Symbol:
        """A number in the shape of a reduction's operand."""
        return self.then("spread")

    def count(self) -> Symbol:
        """How many elements a reduction's operand has."""
        return Symbol("count")

    def keep_above(self, value: Symbol, limit: float) -> Symbol:
        """This gradient where `value` is above a limit, and 0 elsewhere."""
        return self.then("keep_above", value, limit)


def code_of(operand: Any) -> Code:
    if operand.__class__ is Symbol:
        return operand.code
    if operand.__class__ in (int, float):
        return (float(operand),)
    raise TypeError(f"no operand of a formula: {operand!r}")


def as_code(formula: Callable[..., Any], operands: Sequence[Any]) -> Code | None:
    """The code of a formula of these operands; None where it has none."""
    try:
        return code_of(formula(*operands))
    except (AttributeError, TypeError):
        return None


def know_formulas(op: Any, formulas: Mapping[str, Callable[..., Any]]) -> None:
    """Hand the native build the formulas of an op's nodes, by the operands' names: its derivatives, or others."""
    if native is None:
        return
    kept = (*op.saved_names, *op.value_names)
    edges = []
    for at, rule in op.rules:
        fn = formulas[op.signature.params[at].name]
        names = rule.names if fn is rule.fn else fn.__code__.co_varnames[: fn.__code__.co_argcount]
        code = None
        if all([name == "g" or name in kept for name in names]):
            # `alpha` is noted as 1 by whatever is recorded without it, which is all that the code is for.
            code = as_code(fn, [1 if n == "alpha" else Symbol(-1 if n == "g" else kept.index(n)) for n in names])
        if code is None:
            return
        edges.append(code)
    for node_class in (op.node_class, *[named for _, named in op.number_nodes]):
        native.add_program(node_class, len(op.saved_names), "alpha" in op.value_names, op.fits_one, tuple(edges))
