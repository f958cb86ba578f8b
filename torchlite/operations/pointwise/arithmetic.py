"""Arithmetic: sums, products, quotients, magnitude, and what lies between two values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import (
    Binary,
    Elementwise,
    Scaled,
    Unary,
    conj,
    describe,
    left_to_other,
    method,
    publish,
    published,
)
from ...core.machine import NOT_IMPLEMENTED, Tensor, TensorBase, fast, fitting_array, functions, public, result_type
from ...core.values import Array, Backend, Namespace, broadcast_shapes, dt, not_implemented_for
from ...kernels.remainders import divided
from ..formulas import options, over
from ..vocabulary import ALL, COMMON, INEXACT, REAL, TENSOR_FIRST, scaled, undifferentiable

# ---- sums and products


def _no_bool_difference(self: Any, other: Any, alpha: Any) -> None:
    bools = [(v.dtype is dt.bool_ if isinstance(v, TensorBase) else isinstance(v, bool)) for v in (self, other)]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _check_exchanged(self: Tensor, other: Any, alpha: Any) -> None:
    _no_bool_difference(self, other, alpha)
    if isinstance(other, TensorBase):  # which comes first in what is said of sizes
        broadcast_shapes(other._array.shape, self._array.shape)


add = Scaled("add", "add", (lambda g: g, lambda g, alpha: scaled(g, alpha)), operators=True, of_numbers=True)
publish(add, inplace=True, operators="add radd", operators_in_place="iadd")

sub = Scaled(
    "sub", "subtract", (lambda g: g, lambda g, alpha: scaled(-g, alpha)),
    dtypes=dt.NUMBERS, check_form=_no_bool_difference, check_in_place=_no_bool_difference,
    check_out=lambda out, values: _no_bool_difference(*values), operators=True, of_numbers=True,
)  # fmt: skip
publish(sub, names=("sub", "subtract"), inplace=True, operators="sub", operators_in_place="isub")

rsub = Scaled(
    "rsub", lambda xp, self, other: xp.subtract(other, self), (lambda g, alpha: scaled(-g, alpha), lambda g: g),
    first="Tensor", scaled=0, dtypes=dt.NUMBERS, check_form=_check_exchanged, number_nodes={"other": "RsubBackward1"},
    arranged=lambda op, outputs, values: Elementwise.arranged(op, outputs, (values[1], values[0], *values[2:])),
)  # fmt: skip
publish(rsub, method=False, operators="rsub")

mul = Binary(
    "mul", "multiply", (lambda g, other: g * conj(other), lambda g, self: g * conj(self)),
    halves="mixed", operators=True, of_numbers=True, dtypes=ALL,
)  # fmt: skip
publish(mul, names=("mul", "multiply"), inplace=True, operators="mul rmul", operators_in_place="imul")

neg = Unary(
    "neg", "negative", lambda g: -g, dtypes=dt.NUMBERS, operators=True,
    refuse=lambda d: RuntimeError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead."
    ) if d is dt.bool_ else None,
)  # fmt: skip
publish(neg, names=("neg", "negative"), inplace=True, operators="neg")


@published("positive(Tensor self)", by_form=False)
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
    if input.dtype is dt.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = Tensor.positive  # type: ignore[method-assign]


def times(xp: Namespace, array: Array, factor: Any) -> Any:
    """An array times a number, in the array's type."""
    return array if factor == 1 else xp.multiply(array, xp.asarray(factor).astype(array.dtype))


def check_factors(d: dt.dtype, t: Tensor, *factors: Any) -> None:
    """Whether numbers can be converted to `d`."""
    for factor in factors:
        if factor not in (0, 1):
            fitting_array(factor, d, t._backend.real)


def _fitting_value(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> None:
    check_factors(result_type(self, tensor1, tensor2), self, value)


def _no_integer_addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> None:
    if tensor1.dtype.category < dt.FLOAT and tensor2.dtype.category < dt.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )


addcmul = Elementwise(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
    lambda xp, self, tensor1, tensor2, value: self + times(xp, tensor1, value) * tensor2,
    {
        "self": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conj(tensor1 * value),
    },
    halves="wide", dtypes=dt.NUMBERS, check_form=_fitting_value, label="addcmul_cpu_out",
)  # fmt: skip


def _addcdiv_of_divisor(g: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    square = tensor2 * tensor2
    slope = conj(value * tensor1 / square)
    return -g * slope


addcdiv = Elementwise(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
    lambda xp, self, tensor1, tensor2, value: self + times(xp, tensor1, value) / tensor2,
    {
        "self": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(over(value, tensor2)),
        "tensor2": _addcdiv_of_divisor,
    },
    halves="wide", dtypes=INEXACT, check_form=_no_integer_addcdiv, label="addcdiv_cpu_out",
)  # fmt: skip
for _op in (addcmul, addcdiv):
    publish(_op, inplace=True)


# ---- quotients


def _nonzero(self: Any, divisor: Any) -> None:
    """Refuse an integer divided by zero; the divisor may be a number."""
    if self.dtype.kind in "iu" and self.size:
        zero = divisor == 0
        if zero.__class__ is not bool:
            broadcast_shapes(self.shape, divisor.shape)  # what does not fit is said first
        if zero if zero.__class__ is bool else zero.any().item():
            raise RuntimeError("ZeroDivisionError")


def _floor_divide(xp: Namespace, self: Array, other: Any) -> Any:
    _nonzero(self, other)
    return divided(xp, "floor_divide", self, other)


def _trunc_divide(xp: Namespace, self: Array, other: Any) -> Any:
    if self.dtype.kind not in "iu":
        return xp.trunc(xp.divide(self, other))
    _nonzero(self, other)
    quotient = xp.floor_divide(self, other)
    return quotient + ((quotient < 0) & (quotient * other != self)).astype(quotient.dtype)


def _remainder(xp: Namespace, self: Array, other: Any) -> Any:
    _nonzero(self, other)
    made = divided(xp, "remainder", self, other)
    if made.dtype.kind != "f":
        return made
    return xp.where(made == 0, xp.copysign(made, self), made)  # a zero has the sign of what was divided


def _fmod(xp: Namespace, self: Array, other: Any) -> Any:
    _nonzero(self, other)
    return divided(xp, "fmod", self, other)


def _divide_rounded(xp: Namespace, self: Array, other: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return xp.divide(self, other)
    return (_floor_divide if rounding_mode == "floor" else _trunc_divide)(xp, self, other)


def _known_rounding(self: Any, other: Any, rounding_mode: str | None) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" + rounding_mode + "'"
        )
    if rounding_mode == "trunc" and (d := result_type(self, other)) not in REAL:
        broadcast_shapes(*[v._array.shape for v in (self, other) if isinstance(v, TensorBase)])
        raise not_implemented_for("div_trunc_cpu", d)


def _divide(op: Binary, method: bool = False) -> Callable[..., Any]:
    """True division; called with a rounding mode, which `true_divide` does not take, it is `divide_rounded`."""
    divide = fast.binary(op, method)
    if op.signature.name == "true_divide":
        return divide
    rounded = divide_rounded.called(op.signature.name)

    def call(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Any:
        if rounding_mode is None:
            return divide(input, other) if out is None else divide(input, other, out=out)
        named = {"rounding_mode": rounding_mode} if out is None else {"rounding_mode": rounding_mode, "out": out}
        return rounded.call(call, (input, other), named, method)

    if method:
        fast.without(call, "out")
    public[divide] = call
    return call


def _divide_in_place(op: Binary) -> Callable[..., Any]:
    divide = fast.binary_in_place(op)
    if op.signature.name == "true_divide":
        return divide
    rounded = divide_rounded.called(op.signature.name)

    def call(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
        if rounding_mode is None:
            return divide(self, other)
        return rounded.call_in_place(call, (self, other), {"rounding_mode": rounding_mode})

    public[divide] = call
    return call


div = Binary(
    "div", "divide", (lambda g, other: g / conj(other), lambda g, self, other: conj(self / other / other) * -g),
    result="float", halves="mixed", operators=True, of_numbers=True, fast=_divide, fast_in_place=_divide_in_place,
)  # fmt: skip


def _no_slope(g: Tensor) -> Tensor:
    return functions["zeros_like"](g, **options(g))


divide_rounded = Elementwise(
    "div.rounding_mode(Operand self, Operand other, *, str? rounding_mode)",
    _divide_rounded,
    {"self": lambda g, other: _no_slope(g), "other": lambda g, self, other: _no_slope(g)},
    dtypes=REAL, check_form=_known_rounding, node="DivBackward2", label="div_floor_cpu",
    numbers_count=True, of_numbers=True, shows="rounding_mode",
)  # fmt: skip
publish(
    div, names=("div", "divide", "true_divide"),
    inplace=True, operators="truediv div", operators_in_place="itruediv idiv",
)  # fmt: skip

# With a number, as PyTorch's functions that are made of others call them: in the history, it has no place.
multiply_by, divide_by, add_number = [
    Binary(
        f"{name}.Scalar", kernel, {"self": vjp, "other": None}, schema="Tensor self, Operand other", result=result,
        node=f"{name.capitalize()}Backward1", by_value=("other",), dtypes=COMMON if name == "mul" else None,
    )
    for name, kernel, vjp, result in (
        ("mul", "multiply", lambda g, other: g * other, "same"),
        ("div", "divide", lambda g, other: g / other, "float"),
        ("add", "add", lambda g: g, "same"),
    )
]  # fmt: skip

_unknown = undifferentiable("derivative for aten::floor_divide is not implemented")
floor_divide = Binary(
    "floor_divide", _floor_divide, (_unknown, _unknown),
    dtypes=REAL, halves="mixed", label="div_floor_cpu", node=NOT_IMPLEMENTED, converts=True,
    number_nodes={"other": NOT_IMPLEMENTED}, of_numbers=True,
)  # fmt: skip
publish(floor_divide, inplace=True, operators="floordiv", reflected="rfloordiv", operators_in_place="ifloordiv")

remainder = Binary(
    "remainder", _remainder,
    (lambda g: g, lambda g, self, other: -g * divide_rounded.apply(self, other, "floor")),
    dtypes=REAL, halves="wide", node="RemainderBackward1",
    number_nodes={"self": NOT_IMPLEMENTED, "other": "RemainderBackward0"},
)  # fmt: skip
publish(remainder, inplace=True, operators="mod", reflected="rmod", operators_in_place="imod")

fmod = Binary(
    "fmod", _fmod, (lambda g: g, lambda g, self, other: -g * divide_rounded.apply(self, other, "trunc")),
    schema=TENSOR_FIRST, dtypes=REAL, halves="wide", node="FmodBackward1", number_nodes={"other": "FmodBackward0"},
)  # fmt: skip
publish(fmod, inplace=True)

_POLE = complex(math.inf, math.nan)  # what 0 gives where it has no complex value


def _reciprocal(xp: Namespace, x: Array) -> Any:
    if x.dtype.kind == "c":  # as quotients, whose zeros have other signs than NumPy's reciprocals
        return xp.where(x == 0, x.dtype.type(_POLE), xp.divide(x.dtype.type(1), x))
    # NumPy divides many at a time, but takes longer to begin.
    return xp.reciprocal(x) if x.size < 1 << 11 else xp.divide(x.dtype.type(1), x)


reciprocal = Unary(
    "reciprocal", _reciprocal, lambda g, result: conj(result * result) * -g, result="float", operators=True
)
publish(reciprocal, inplace=True)


@method("__rdiv__", "__rtruediv__")
@left_to_other
def rtruediv(self: Tensor, other: Any) -> Any:
    """`other / self`, as the reciprocal times `other`."""
    return self.reciprocal() * other


# ---- between two values


def _lerp(xp: Namespace, self: Array, end: Any, weight: Any) -> Array:
    """From whichever side is nearer, so that both ends are exact."""
    step = end - self
    return xp.where(xp.absolute(weight) < 0.5, self + weight * step, end - step * (1 - weight))


def _lerp_by_number(xp: Namespace, self: Array, end: Any, weight: Any) -> Any:
    step, weight = end - self, self.dtype.type(weight)
    return self + weight * step if abs(weight) < 0.5 else end - step * (1 - weight)


def _lerp_dtype(op: Elementwise, values: Sequence[Any]) -> dt.dtype:
    """Nothing is promoted, but a 0-dim weight is converted."""
    start, end, weight = values
    fixed = {"end": end, "weight": weight} if isinstance(weight, TensorBase) and weight.dim() else {"end": end}
    for name, t in fixed.items():
        if t.dtype is not start.dtype:
            raise RuntimeError(f"expected dtype {start.dtype.cname} for `{name}` but got dtype {t.dtype.cname}")
    return Elementwise.compute_dtype(op, (start, end, None))


def _check_weight(self: Tensor, end: Tensor, weight: Any) -> None:
    if weight.__class__ is complex and weight.imag and self.is_floating_point():
        kind = "double" if self.dtype is dt.float64 else "float"
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")


lerp_by_number = Elementwise(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight)",
    _lerp_by_number,
    {
        "self": lambda g, weight: g * (1 - conj(weight)),
        "end": lambda g, weight: g * conj(weight),
    },
    check_form=_check_weight, dtypes=INEXACT, halves="wide", label="lerp_kernel_scalar", node="LerpBackward0",
    compute_dtype=_lerp_dtype,
)  # fmt: skip
lerp = Elementwise(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight)",
    _lerp,
    {
        "self": lambda g, weight: g * (1 - conj(weight)),
        "end": lambda g, weight: g * conj(weight),
        "weight": lambda g, self, end: g * conj(end - self),
    },
    dtypes=INEXACT, halves="wide", label="lerp_kernel_tensor", node="LerpBackward1", compute_dtype=_lerp_dtype,
)  # fmt: skip
publish(lerp, lerp_by_number, inplace=True)


def _with_exponent(op: Elementwise, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """The exponent stays the integer it is."""
    (mantissa, exponent), out_dtype = Elementwise.prepare(op, values, backend)
    return [mantissa, exponent if values[1].dtype.category >= dt.FLOAT else values[1]._array.astype("i4")], out_dtype


def _check_exponent_in_place(self: Tensor, other: Tensor) -> None:
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {self.dtype.legacy}")


def _check_exponent(self: Tensor, other: Tensor) -> None:
    if other.dtype in (dt.bool_, *dt.UNSIGNED) and self.is_floating_point():
        raise not_implemented_for("ldexp_cpu_exp", other.dtype)


def _ldexp(xp: Namespace, self: Array, exponent: Array) -> Any:
    return xp.ldexp(self, exponent) if (self.dtype.kind, exponent.dtype.kind) == ("f", "i") else self * 2.0**exponent


ldexp = Elementwise(
    "ldexp(Tensor self, Tensor other)",
    _ldexp,
    {"self": lambda g, other: g * conj(2**other), "other": lambda g, result: g * conj(result) * math.log(2)},
    result="float", halves="wide", prepare=_with_exponent, by_form=True, check_form=_check_exponent,
    check_in_place=_check_exponent_in_place,
)  # fmt: skip
publish(ldexp, inplace=True)


describe(
    add="The sum of a tensor and another, or a number, which `alpha` multiplies first.",
    addcdiv="`input + value * tensor1 / tensor2`, element by element.",
    addcmul="`input + value * tensor1 * tensor2`, element by element.",
    div="The quotient of a tensor and another, or a number; `rounding_mode` 'trunc' or 'floor' makes it whole.",
    floor_divide="The quotient, rounded down.",
    fmod="The remainder of a division that has the sign of the dividend.",
    ldexp="`input * 2 ** other`.",
    lerp="""The point between `input` (weight 0) and `end` (weight 1): `input + weight * (end - input)`.

    >>> torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.3)
    tensor([3.])
    """,
    mul="The product of a tensor and another, or a number, element by element.",
    neg="Each element with its sign turned.", reciprocal="One divided by each element.",
    remainder="The remainder of a division that has the sign of the divisor.", rsub="`other - alpha * input`.",
    sub="A tensor less another, or a number, which `alpha` multiplies first.",
)  # fmt: skip
