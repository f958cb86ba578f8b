"""What the declarations of many ops share: sets of dtypes, signatures, refusals and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.declare import conj
from ..core.machine import Tensor, functions
from ..core.values import dt

REAL = dt.INTEGERS | dt.FLOATS  # numbers that have an order
ORDERED = REAL | {dt.bool_}
INTEGRAL = dt.INTEGERS | {dt.bool_}
INEXACT = dt.FLOATS | dt.COMPLEXES
ALL = frozenset(dt.DTYPES)  # those of 8 bits and the wide unsigned ones too
COMMON = ALL - dt.EIGHT_BITS

TENSORS = "Tensor self, Tensor other"
TENSOR_FIRST = "Tensor self, Operand other"


def no_complex(error: type[Exception], message: str) -> Callable[[dt.dtype], Exception | None]:
    """A `refuse=` for what has no order."""
    return lambda d: error(message) if d.is_complex else None


def before_out(refuse: Callable[[dt.dtype], Exception | None]) -> Callable[[Any, Sequence[Any]], None]:
    """A `check_out=` that looks at the operand's dtype before that of `out` is looked at."""

    def check(out: Any, values: Sequence[Any]) -> None:
        if (error := refuse(values[0].dtype)) is not None:
            raise error

    return check


def requirement(prefix: str) -> Callable[[bool, str], None]:
    """A check that raises RuntimeError, with this in front of its message, where something does not hold."""

    def require(holds: bool, message: str) -> None:
        if not holds:
            raise RuntimeError(prefix + message)

    return require


def undifferentiable(message: str, error: type[Exception] = RuntimeError) -> Callable[[Any], Any]:
    """The derivative of what PyTorch cannot differentiate: the result has a history, and backward through it fails."""

    def fail(g: Tensor) -> Any:
        raise error(message)

    return fail


def zero_gradient(g: Tensor) -> Tensor:
    """The gradient of an operand of the result's shape that the result does not vary with."""
    made: Tensor = functions["zeros_like"](g)
    return made


def scaled(g: Tensor, factor: Any) -> Tensor:
    """The gradient through a product with a number."""
    return g if factor == 1 else g * conj(factor)
