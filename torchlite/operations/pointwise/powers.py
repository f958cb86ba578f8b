"""Powers and roots."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backends.base import get_backend
from ...core.declare import Signature, describe, publish_as
from ...core.declare.elementwise import Binary, Elementwise, Unary, conj, contiguous
from ...core.declare.public_forms import left_to_other
from ...core.declare.publishing import method, publish, publish_python, published
from ...core.machine import (
    Tensor,
    TensorBase,
    by_formula,
    fitting_array,
    into,
    planned,
    public,
    requires_grad,
    result_type,
)
from ...core.values import Array, Backend, Namespace, dt
from ..formulas import nought
from ..vocabulary import zero_gradient
from .arithmetic import _POLE, _reciprocal, multiply_by
from .selection import where

# Exponents that are only a few operations.
_SHORT_POWERS: dict[Any, Callable[[Any, Any], Any]] = {
    0: lambda xp, x: xp.ones_like(x),
    1: lambda xp, x: x.copy("K"),
    2: lambda xp, x: xp.multiply(x, x),
    3: lambda xp, x: x * x * x,
    0.5: lambda xp, x: xp.sqrt(x),
    -0.5: lambda xp, x: 1 / xp.sqrt(x),
    -1: _reciprocal,
    -2: lambda xp, x: _reciprocal(xp, x * x),
}


def _power_of_inexact(xp: Namespace, self: Array, exponent: Any) -> Any:
    value = xp.power(self, exponent)
    if value.dtype.kind != "c":
        return value
    return xp.where((self == 0) & (exponent.real < 0), value.dtype.type(_POLE), value)


def _pow(xp: Namespace, self: Array, exponent: Any) -> Any:
    if self.dtype.kind != "i":
        value = _power_of_inexact(xp, self, exponent)
        if value.dtype.kind == "c":  # by logarithms, of which 0 has none
            value = xp.where((self == 0) & (exponent == 0), value.dtype.type(complex(math.nan, math.nan)), value)
        return value
    value = xp.power(self, xp.maximum(exponent, 0))
    sign = xp.where(exponent % 2 == 0, 1, self)
    return xp.where(exponent < 0, xp.where(xp.absolute(self) == 1, sign, 0), value).astype(self.dtype)


def _pow_scalar(xp: Namespace, self: Array, exponent: Any) -> Any:
    if self.dtype.kind in "iu" and exponent.__class__ is int and exponent < 0:
        raise ValueError("not whole")  # the fast path then leaves it to the check
    short = _SHORT_POWERS.get(exponent)
    if short is None or (self.dtype.kind in "iu" and exponent < 0):
        return _power_of_inexact(xp, self, exponent)
    return short(xp, self)


def _with_number(op: Elementwise, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """The exponent counts for the result's dtype, but stays a number: one that halves have, beside these."""
    base, exponent = values
    if exponent.__class__ is bool and base.dtype is dt.bool_:  # nothing is to be multiplied
        return [base._array, exponent], dt.bool_
    if base.dtype in dt.HALVES and exponent.__class__ in (int, float):
        exponent = float(fitting_array(exponent, base.dtype, get_backend()))
    (array, _), out_dtype = Elementwise.prepare(op, values, backend)
    return [array, exponent], out_dtype


def _whole_power(self: Tensor, exponent: Any) -> None:
    if self.dtype.category < dt.FLOAT and isinstance(exponent, int):
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        fitting_array(exponent, result_type(self, exponent), self._backend)  # which refuses what it has no room for


def _next_lower_power(self: Tensor, exponent: Any) -> Tensor:
    squared = exponent.__class__ in (int, float) and exponent == 2
    return self if squared and not requires_grad(self) else self ** (exponent - 1)  # whose own derivative knows `self`


def _pow_of_self(g: Tensor, self: Any, exponent: Any) -> Tensor:
    slope, zero = g * conj(exponent * self ** (exponent - 1)), nought(g)
    return where(exponent == 0.0, zero, slope)


def _pow_of_self_scalar(g: Tensor, self: Any, exponent: Any) -> Tensor:
    exponent = float(exponent) if exponent.__class__ is int else exponent  # as a mode sees it in PyTorch
    if exponent == 0:
        return zero_gradient(g)
    return g * conj(multiply_by.apply(_next_lower_power(self, exponent), exponent))


def _pow_of_exponent(g: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Tensor:
    """Where the base is 0, the power is constant 0 on the right half-plane."""
    towards = (exponent.imag == 0) & (exponent.real >= 0) if exponent.dtype.is_complex else exponent >= 0
    constant, slope = (self == 0).logical_and(towards), conj(result * self.log())
    return g * where(constant, nought(g), slope)


def _pow_of_exponent_scalar(g: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Tensor:
    if self == 0:
        return g * where(exponent.real >= 0, 0, conj(result) * -math.inf)
    log: Any = cmath.log(self) if self == self else math.nan
    if not (isinstance(self, complex) or exponent.dtype.is_complex):
        log = math.nan if self < 0 else log.real
    return g * conj(result * log)


pow_scalar = Binary(
    "pow.Tensor_Scalar", _pow_scalar, {"self": _pow_of_self_scalar, "exponent": None},
    schema="Tensor self, Operand exponent", dtypes=dt.NUMBERS, halves="wide", label="pow",
    check_form=_whole_power, prepare=_with_number, numbers_count=False, by_form=True,
    on_arrays=by_formula(lambda xp, g, edges, self, exponent: [
        xp.zeros_like(g) if exponent == 0 else
        g * (exponent * (self if exponent == 2 else _pow_scalar(xp, self, exponent - 1)))
    ]), shows="exponent",
)  # fmt: skip
pow_tensor = Elementwise(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent)", _pow, {"self": _pow_of_self, "exponent": _pow_of_exponent},
    dtypes=dt.NUMBERS, halves="wide", node="PowBackward1", label="pow",
)  # fmt: skip
pow_of_scalar = Elementwise(
    "pow.Scalar(Operand self, Tensor exponent)", _pow, {"self": None, "exponent": _pow_of_exponent_scalar},
    dtypes=dt.NUMBERS, halves="wide", node="PowBackward2", label="pow", arranged=contiguous,
)  # fmt: skip
any_pow = publish(pow_tensor, pow_of_scalar, pow_scalar, function=False, inplace=True, operators_in_place="ipow")
number_pow = pow_scalar.function()


def _number_power(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """The op that a power comes to whose exponent is a number."""
    alone = len(args) == 2 and not kwargs and isinstance(args[0], Tensor) and args[1].__class__ in (int, float)
    return (pow_scalar, args) if alone else None


def _quicker(number_pow: Callable[..., Tensor], any_pow: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A power; numbers as exponents of plain tensors are the common case."""

    def call(*args: Any, **kwargs: Any) -> Tensor:
        if len(args) == 2 and not kwargs and args[0].__class__ is Tensor and args[1].__class__ in (int, float):
            return number_pow(*args)
        return any_pow(*args, **kwargs)

    made = public[number_pow] = public[any_pow] = planned(_number_power, call)
    return made


pow_ = _quicker(number_pow, any_pow)
publish_as("pow", pow_, method=False, general=any_pow)
_any: Any = Tensor.pow
publish_as("pow", _quicker(pow_scalar.function(True), _any), function=False, general=_any)
Tensor.__pow__ = left_to_other(Tensor.pow)  # type: ignore[method-assign]  # handlers are told of it by its name, "pow"


@method("__rpow__")
@left_to_other
def _power_of(self: Tensor, other: Any) -> Any:
    """`other ** self`"""
    return any_pow(other, self)


def _into_square(out: Any, square: Callable[..., Any], values: Sequence[Any], name: str) -> Any:
    return any_pow(*values, 2, out=out) if isinstance(out, TensorBase) else into(out, square, values, name)


publish_python("square(Tensor self)", lambda self: number_pow(self, 2), into=_into_square)


publish_python("square_(Tensor self)", lambda self: self.pow_(2))


def _double(*values: Any) -> dt.dtype:
    dtypes = [v.dtype if isinstance(v, TensorBase) else dt.of_number(v) for v in values]
    return dt.complex128 if any(d.is_complex for d in dtypes) else dt.float64


_FLOAT_POWER = Signature("float_power(Operand self, Operand exponent)")


@published(_FLOAT_POWER.text)
def float_power(self: Any, exponent: Any) -> Tensor:
    """The power in double precision."""
    if not isinstance(self, TensorBase) and not isinstance(exponent, TensorBase):
        raise _FLOAT_POWER.refusal((self, exponent), {})
    d = _double(self, exponent)
    number = complex if d.is_complex else float
    return pow_(*[v.to(d) if isinstance(v, TensorBase) else number(v) for v in (self, exponent)])


@method("float_power_")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """The power in double precision, written into a tensor that has it."""
    d = _double(self, exponent)
    if self.dtype is not d:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.legacy} but the operation's result requires dtype "
            f"{d.legacy}"
        )
    return self.pow_(exponent.to(d) if isinstance(exponent, TensorBase) else exponent)


sqrt = Unary("sqrt", "sqrt", lambda g, result: g / (2 * conj(result)), result="float", operators=True)
publish(sqrt, inplace=True)
rsqrt = Unary(
    "rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda g, result: conj(result**3) * (-0.5 * g),
    result="float", halves="wide", operators=True,
)  # fmt: skip
publish(rsqrt, inplace=True)


describe(
    pow="Each element to the power of the exponent.", rsqrt="One divided by the square root of each element.",
    sqrt="The square root of each element.", square="Each element times itself.",
)  # fmt: skip
