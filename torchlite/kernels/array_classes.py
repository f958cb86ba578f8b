"""What classes of arrays have in common beside NumPy's: flags, and operators that call a namespace's functions."""

from __future__ import annotations

from typing import Any, NamedTuple

# Those that have a reflected and an in-place form come first.
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "matmul": "matmul",
}  # fmt: skip
_OTHERS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert", "divmod": "divmod",
}  # fmt: skip


class Flags(NamedTuple):
    c_contiguous: bool
    f_contiguous: bool
    owndata: bool


def give_operators(array: type, xp: Any) -> None:
    """Give a class of arrays the operators that NumPy's have."""
    for symbol, name in (_BINARY | _OTHERS).items():
        setattr(array, f"__{symbol}__", lambda self, *other, name=name: getattr(xp, name)(self, *other))
    for symbol, name in _BINARY.items():
        setattr(array, f"__r{symbol}__", lambda self, other, name=name: getattr(xp, name)(other, self))
        setattr(array, f"__i{symbol}__", lambda self, other, name=name: getattr(xp, name)(self, other, out=self))
