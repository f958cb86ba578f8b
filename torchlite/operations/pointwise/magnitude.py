"""Size and sign: magnitudes, steps, the legs of a triangle, neighbours among the floats, common divisors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.declare import Binary, Elementwise, Unary, conj, describe, publish
from ...core.machine import NOT_IMPLEMENTED, Tensor, TensorBase
from ...core.machine.out_dtypes import check_found
from ...core.state import is_watched
from ...core.values import Array, Namespace, dt
from ..formulas import zeros
from ..making.copy import arranged_as_copy
from ..vocabulary import ORDERED, TENSOR_FIRST, TENSORS, before_out, no_complex, undifferentiable, zero_gradient
from .selection import where


def _sgn(xp: Namespace, x: Array) -> Any:
    kind = x.dtype.kind
    if kind == "c":
        size = xp.absolute(x)
        return xp.where(size == 0, x.dtype.type(0), x / size)
    return x.copy("K") if kind == "b" else ((x > 0) ^ (x < 0)).astype(x.dtype) * xp.where(x < 0, -1, 1).astype(x.dtype)


def _sgn_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """What the gradient has across the direction of a complex number."""
    if not self.dtype.is_complex:
        return zero_gradient(g)
    size = self.abs()
    return where(size == 0, 0, (g - (g * conj(result)).real * result) / size)


def _no_complex_abs(self: Tensor) -> None:
    if self.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


def _arranged_magnitudes(op: Elementwise, outputs: Any, values: Sequence[Any]) -> Any:
    return (arranged_as_copy if values[0].dtype.is_complex else Elementwise.arranged)(op, outputs, values)


def _check_magnitudes(out: Any, values: Sequence[Any]) -> None:
    """Magnitudes of complex numbers may be written as these are, or to any real numbers that hold them."""
    d = values[0].dtype
    if isinstance(out, TensorBase) and (out.dtype.is_complex or not d.is_complex):
        check_found(d, out.dtype)


absolute = Unary(
    "abs", "absolute", lambda g, self: g * self.sgn(), result="real",
    dtypes=dt.NUMBERS | dt.EIGHT_BITS - {dt.float8_e8m0fnu},
    check_in_place=_no_complex_abs, check_out=_check_magnitudes, arranged=_arranged_magnitudes,
    direct=dt.NUMBERS - dt.COMPLEXES, converts=True,
)  # fmt: skip
publish(absolute, names=("abs", "absolute"), inplace=True, operators="abs")
sgn = Unary("sgn", _sgn, _sgn_vjp, label="sign_cpu")
publish(sgn, inplace=True)
_refuse = no_complex(
    NotImplementedError,
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
)
sign = Unary("sign", _sgn, zero_gradient, refuse=_refuse, check_out=before_out(_refuse))
publish(sign, inplace=True)

copysign = Binary(
    "copysign", "copysign",
    (
        lambda g, self, result: g * (result / self).masked_fill_(self == 0, 0),
        lambda g: zeros(g, g.shape) if is_watched() else zero_gradient(g),
    ),
    schema=TENSOR_FIRST, result="float", dtypes=dt.FLOATS, number_nodes={"other": "CopysignBackward1"},
)  # fmt: skip
publish(copysign, inplace=True)


def _one_dtype(self: Tensor, values: Tensor) -> None:
    if self.dtype.is_complex or values.dtype.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


def _step_into_one_dtype(out: Any, values: Sequence[Any]) -> None:
    _one_dtype(*values)
    _one_dtype(out, values[1])


_unknown = undifferentiable("derivative for aten::heaviside is not implemented")
heaviside = Elementwise(
    "heaviside(Tensor self, Tensor values)",
    lambda xp, self, values: xp.where(self == 0, values, (self > 0).astype(self.dtype)),
    {"self": _unknown, "values": _unknown},
    check_form=_one_dtype, check_out=_step_into_one_dtype, dtypes=ORDERED, node=NOT_IMPLEMENTED,
)  # fmt: skip
publish(heaviside, inplace=True)

hypot = Binary(
    "hypot", "hypot", (lambda g, self, result: g * self / result, lambda g, other, result: g * other / result),
    schema=TENSORS, dtypes=dt.FLOATS,
)  # fmt: skip
publish(hypot, inplace=True)


def _nextafter(xp: Namespace, x: Array, other: Array) -> Array:
    made = xp.nextafter(x, other)
    return made if x.dtype.itemsize > 2 else xp.where(x == other, other, made)  # where halves are zeros of other signs


nextafter = Binary(
    "nextafter", _nextafter,
    (lambda g, self, other: where(self == other, 0, g), zero_gradient),
    schema=TENSORS, dtypes=dt.FLOATS,
)  # fmt: skip
publish(nextafter, inplace=True)
for _name in ("gcd", "lcm"):
    publish(Binary(_name, _name, schema=TENSORS, dtypes=dt.INTEGERS), inplace=True)


describe(
    abs="The absolute value of each element; of a complex number, its distance from zero.",
    copysign="The size of each element with the sign of the other's.",
    gcd="The greatest common divisor of whole numbers.",
    heaviside="0 for negative elements, 1 for positive ones, `values` at zero.",
    hypot="The length of the hypotenuse over legs of these lengths.",
    lcm="The least common multiple of whole numbers.",
    nextafter="The floating-point number next to each element, towards the other's.",
    sgn="The sign of each element; of a complex number, the number of size 1 in its direction.",
    sign="-1, 0 or 1 by the sign of each element.",
)
