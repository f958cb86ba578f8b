"""Functions that also take the symbolic numbers of PyTorch's compiler, of which nothing here makes any."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, ClassVar

from .core.values import bear_name

__all__ = [
    "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
    "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "SymBool", "SymFloat", "SymInt",
]  # fmt: skip


class _Symbolic:
    """A number that a *node* knows of: what is done to it is done by the node's methods, with its operands' nodes."""

    def __init__(self, node: Any) -> None:
        self.node = node

    names: ClassVar[dict[str, str]] = {}  # of operators, where a node has others for them

    def __repr__(self) -> str:
        return self.node._graph_repr()

    def __bool__(self) -> bool:
        return builtins.bool(self != 0)

    def __hash__(self) -> int:
        if self.node.is_constant():
            return hash(self.node.constant)
        raise TypeError(f"unhashable type: {'non-nested ' * isinstance(self, SymInt)}{type(self).__name__}")


class SymInt(_Symbolic):
    """An integer that a node knows of."""

    names: ClassVar[dict[str, str]] = {
        "truediv": "int_truediv", "floordiv": "int_floordiv", "pow": "pow_by_natural", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor",
    }  # fmt: skip

    def __int__(self) -> int:
        return self.node.int_()

    __index__ = __int__


class SymFloat(_Symbolic):
    """A real number that a node knows of."""

    names: ClassVar[dict[str, str]] = {"truediv": "float_truediv", "pow": "float_pow"}

    def __float__(self) -> float:
        return self.node.guard_float("", 0)

    def __int__(self) -> int:
        return int(float(self))

    def is_integer(self) -> Any:
        """Whether it has no fraction."""
        return self.node.is_integer()


class SymBool(_Symbolic):
    """A truth value that a node knows of."""

    names: ClassVar[dict[str, str]] = {"and": "and_", "or": "or_"}

    def __bool__(self) -> bool:
        return self.node.bool_()

    def __int__(self) -> int:
        return int(bool(self))


def _of_node(node: Any) -> _Symbolic:
    """The symbolic number of a node."""
    return SymInt(node) if node.is_int() else SymBool(node) if node.is_bool() else SymFloat(node)


def _symbolic(value: Any, beside: Any) -> _Symbolic | None:
    """An operand as a symbolic number; None for what is no number."""
    for cls, wrapped in ((builtins.bool, SymBool), (int, SymInt), (float, SymFloat)):
        if isinstance(value, cls):
            return wrapped(getattr(beside, f"wrap_{cls.__name__}")(value))
    return value if isinstance(value, _Symbolic) else None


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: _Symbolic, other: Any) -> Any:
        beside = _symbolic(other, self.node)
        if beside is None:
            return NotImplemented
        pair: list[Any] = [beside, self] if reflected else [self, beside]
        if {SymInt, SymFloat} == {*map(type, pair)}:
            pair = [SymFloat(n.node.sym_float()) if isinstance(n, SymInt) else n for n in pair]
        return _of_node(getattr(pair[0].node, pair[0].names.get(name, name))(pair[1].node))

    return operate


_REFLECTED = ["add", "sub", "mul", "mod", "truediv", "floordiv", "pow", "and", "or", "xor", "lshift", "rshift"]
for _name in (*_REFLECTED, "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Symbolic, f"__{_name}__", _operator(_name, False))
    if _name in _REFLECTED:
        setattr(_Symbolic, f"__r{_name}__", _operator(_name, True))
for _name in ("neg", "abs", "pos", "floor", "ceil", "trunc"):
    setattr(_Symbolic, f"__{_name}__", lambda self, _name=_name: _of_node(getattr(self.node, _name)()))
for _cls in (SymInt, SymFloat, SymBool):
    bear_name(_cls, "torch")


def sym_int(a: float) -> int:
    """A number without its fraction."""
    return math.trunc(a)


def sym_float(a: float) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: bool) -> bool:
    """The logical not of a value."""
    return not a


def sym_max(a: float, b: float) -> float:
    """The greater of two numbers; of a float and an int, a float."""
    return float(builtins.max(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.max(a, b)


def sym_min(a: float, b: float) -> float:
    """The smaller of two numbers; of a float and an int, a float."""
    return float(builtins.min(a, b)) if isinstance(a, float) or isinstance(b, float) else builtins.min(a, b)


def sym_sqrt(a: float) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values, by a condition."""
    return t if b else f


def sym_sum(*args: Any) -> int:
    """The sum of numbers."""
    numbers = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return sum(numbers)


def sym_fresh_size(size: int) -> int:
    """A size that an exported program does not know yet: there are no such programs here."""
    return size


def sym_constrain_range(size: int, *, min: int | None = None, max: int | None = None) -> None:
    """Refuse a number that lies outside of a range."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


sym_constrain_range_for_size = sym_constrain_range
