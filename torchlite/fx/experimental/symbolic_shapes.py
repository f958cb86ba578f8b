"""Questions about symbolic sizes. Sizes are always known here, so that each has its answer at once."""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...absent import placeholder
from ...core.values import warn
from ...nested._internal.nested_int import NestedInt
from ...utils._ordered_set import OrderedSet

__all__ = [
    "CURRENT_NODE_KEY", "ConstraintViolationError", "DimDynamic", "GuardOnDataDependentSymNode",
    "SHAPEENV_EVENT_KEY", "ShapeEnv", "StatefulSymbolicContext", "StatelessSymbolicContext", "SymbolicContext",
    "canonicalize_bool_expr", "check_consistent", "compute_unbacked_bindings", "create_contiguous", "expect_true",
    "free_symbols", "free_unbacked_symbols", "guard_float", "guard_int", "guard_or_false", "guard_or_true",
    "guard_scalar", "guard_size_oblivious", "guarding_hint_or_throw", "has_free_symbols", "has_free_unbacked_symbols",
    "has_static_value", "has_symbolic_sizes_strides", "is_concrete_bool", "is_concrete_float", "is_concrete_int",
    "is_nested_int", "is_symbolic", "optimization_hint", "rebind_unbacked", "resolve_unbacked_bindings",
    "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip

SHAPEENV_EVENT_KEY, CURRENT_NODE_KEY = "shapeenv_event", "current_node"

# Bookkeeping of unknown sizes: names alone.
ShapeEnv, StatefulSymbolicContext, StatelessSymbolicContext, SymbolicContext = [
    placeholder("torch.fx.experimental.symbolic_shapes", name)
    for name in ("ShapeEnv", "StatefulSymbolicContext", "StatelessSymbolicContext", "SymbolicContext")
]


class GuardOnDataDependentSymNode(RuntimeError):
    """A program went on by a number that values decide."""

    def __init__(self, cond: Any, *args: Any) -> None:
        super().__init__(*args)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """A number was to be unknown, and was not."""


class DimDynamic(enum.Enum):
    """How a dimension is treated when sizes are made symbolic."""

    DYNAMIC, DUCK, STATIC, UNBACKED, INFER_STRIDE = range(5)


def _known(kinds: Any, told: str) -> Callable[[Any], Any]:
    """The identity of plain numbers; AssertionError, told what it was, of others."""

    def value(a: Any) -> Any:
        if not isinstance(a, kinds) or (kinds is int and isinstance(a, bool)):
            raise AssertionError(told.format(repr(a), type(a), a))
        return a

    return value


def _by(known: Callable[[Any], Any], answer: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    def asked(a: Any) -> Any:
        return answer(known(a))

    asked.__name__ = asked.__qualname__ = name
    return asked


guard_int, guard_float = _known(int, "Expected int, got {0}"), _known(float, "Expected float, got {0}")
guard_scalar = _known((bool, int, float), "unrecognized scalar {2}")
guarding_hint_or_throw = _known((bool, int), "Expected int or bool, got {1}")
guard_or_false = guard_or_true = statically_known_true = _known(bool, "Expected bool, got {1}")
statically_known_false = _by(statically_known_true, operator.not_, "statically_known_false")
_hint = _known(int, "Expected int, got {1}")
is_concrete_int = _by(_known(int, "Expected SymInt or int, got {1}"), lambda a: True, "is_concrete_int")
is_concrete_float = _by(_known(float, "Expected SymFloat or float, got {1}"), lambda a: True, "is_concrete_float")
is_concrete_bool = _by(_known(bool, "Expected SymBool or bool, got {1}"), lambda a: True, "is_concrete_bool")
has_static_value = _by(
    _known((bool, int, float), "Expected BoolLike/FloatLike/IntLike, got {1}"), lambda a: True, "has_static_value"
)


def optimization_hint(a: Any, fallback: int | None = None) -> int:
    return _hint(a)


def guard_size_oblivious(expr: Any) -> bool:
    warn(
        "guard_size_oblivious will be removed. Consider using explicit unbacked handling     potentially utilizing "
        "guard_or_false, guard_or_true, or statically_known_true",
        FutureWarning,
    )
    return statically_known_true(expr)


def canonicalize_bool_expr(expr: Any) -> Any:
    return expr


expect_true = canonicalize_bool_expr


def free_symbols(val: Any) -> OrderedSet:
    """The unknown numbers in sizes, strides and such: none."""
    return OrderedSet()


free_unbacked_symbols = free_symbols


def _nothing_unknown(val: Any) -> bool:
    return False


has_free_symbols = has_free_unbacked_symbols = has_symbolic_sizes_strides = is_symbolic = _nothing_unknown


def is_nested_int(s: Any) -> bool:
    """Whether a size is that of a ragged dimension."""
    return isinstance(s, NestedInt)


def create_contiguous(shape: Sequence[int]) -> list[int]:
    """Strides, as PyTorch's function gives them: by all sizes but the last."""
    strides = [1]
    for size in shape[-2::-1]:
        strides.append(size * strides[-1])
    return strides[::-1]


def sym_and(x: Any, *others: Any) -> Any:
    return functools.reduce(operator.and_, others, x)


def sym_or(x: Any, *others: Any) -> Any:
    return functools.reduce(operator.or_, others, x)


def sym_eq(x: Any, y: Any) -> Any:
    """Whether two numbers, or two sequences of them, are equal."""
    if isinstance(x, tuple | list) and isinstance(y, tuple | list):
        return len(x) == len(y) and sym_and(True, *map(sym_eq, x, y))
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def check_consistent(new: Any, old: Any) -> None:
    """Refuse a tensor of another shape, or another number."""
    if hasattr(new, "shape"):
        new, old = new.shape, old.shape
    if new != old:
        raise RuntimeError(f"{old} != {new} (old != new)")


def compute_unbacked_bindings(shape_env: Any, example_value: Any, *_: Any, **__: Any) -> None:
    """The symbols that a value introduces: none."""


def rebind_unbacked(shape_env: Any, n: Any, result: Any) -> None:
    pass


def resolve_unbacked_bindings(shape_env: Any, bindings: Any) -> Any:
    if bindings is not None and shape_env is None:
        raise AssertionError("shape_env should not be None")
    return bindings
