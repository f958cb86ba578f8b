"""What dtypes are to functions: of which kind, in which they compute, which they give."""

from __future__ import annotations

import enum
from typing import Any

from .. import symbolic
from ..core.machine import Tensor, result_type
from ..core.values import dt
from ..core.values.device import device
from ..core.values.dtype import dtype

__all__ = [
    "ELEMENTWISE_TYPE_PROMOTION_KIND", "REDUCTION_OUTPUT_TYPE_KIND", "can_safe_cast_to", "check_fp_or_complex",
    "corresponding_complex_dtype", "corresponding_real_dtype", "dtype_or_default", "dtype_to_type",
    "dtype_to_type_ctor", "elementwise_dtypes", "get_acc_type", "get_computation_dtype", "get_higher_dtype",
    "get_higher_type", "is_boolean_dtype", "is_complex_dtype", "is_float_dtype", "is_grad_dtype", "is_integer_dtype",
    "is_low_precision_dtype", "is_weakly_lesser_type", "number_type", "reduction_dtypes", "type_to_dtype",
]  # fmt: skip


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):
    """How the dtypes of an elementwise function's operands are promoted."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(enum.Enum):
    """The dtype of a reduction's result, by that of its operand."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


_REAL = {dt.complex32: dt.float16, dt.complex64: dt.float32, dt.complex128: dt.float64}
_COMPLEX = {dt.float16: dt.complex32, dt.bfloat16: dt.complex64, dt.float32: dt.complex64, dt.float64: dt.complex128}
_SUMMED = dt.WIDE | {dt.float32: dt.float64, dt.complex64: dt.complex128}
_ORDERED = (bool, int, float, complex)
_SYMBOLIC: dict[type, type] = {symbolic.SymBool: bool, symbolic.SymInt: int, symbolic.SymFloat: float}
_DTYPE = dtype  # which the parameters of the functions below are called


def _known(dtype: Any) -> dtype:
    if not isinstance(dtype, _DTYPE):
        raise AssertionError(f"Expected torch.dtype, got {type(dtype)}")
    return dtype


def is_boolean_dtype(dtype: dtype) -> bool:
    return _known(dtype) is dt.bool_


def is_integer_dtype(dtype: dtype) -> bool:
    """Whether it is one of whole numbers, as `torch.bool` is not."""
    return not (_known(dtype).is_floating_point or dtype.is_complex or dtype is dt.bool_)


def is_float_dtype(dtype: dtype) -> bool:
    return _known(dtype).is_floating_point


def is_complex_dtype(dtype: dtype) -> bool:
    return _known(dtype).is_complex


def is_grad_dtype(dtype: dtype) -> bool:
    """Whether tensors of it can require grad."""
    return dtype.is_floating_point or dtype.is_complex


def is_low_precision_dtype(dtype: dtype) -> bool:
    """Whether functions compute with more digits than it has."""
    return _known(dtype) in dt.WIDE


def corresponding_real_dtype(dtype: dtype) -> dtype:
    """That of the parts of complex numbers."""
    return _REAL[dtype]


def corresponding_complex_dtype(dtype: dtype) -> dtype:
    """That of complex numbers with such parts."""
    return _COMPLEX[dtype]


def get_computation_dtype(dtype: dtype) -> dtype:
    """In which functions of tensors of a dtype compute."""
    return dt.WIDE.get(dtype, dtype)


def get_acc_type(dtype: dtype, device: device) -> dtype:
    """In which sums are kept."""
    return (_SUMMED if device.type == "cpu" else dt.WIDE).get(dtype, dtype)


def dtype_to_type(dtype: dtype) -> type:
    """The type of Python's numbers that has its elements."""
    if _known(dtype) is dt.bool_:
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def dtype_to_type_ctor(dtype: dtype) -> Any:
    """The constructor of Python numbers for a dtype; symbolic numbers stay symbolic."""
    made = dtype_to_type(dtype)
    return {int: symbolic.sym_int, float: symbolic.sym_float}.get(made, made)


def type_to_dtype(typ: type) -> dtype:
    """The dtype of tensors that are made of numbers of a type of Python's."""
    number = _SYMBOLIC.get(typ, typ)
    if number not in _ORDERED:
        raise ValueError(f"Invalid type {typ}!")
    default = dt.get_default_dtype()
    return {bool: dt.bool_, int: dt.int64, float: default, complex: corresponding_complex_dtype(default)}[number]


def number_type(x: Any) -> type:
    """The type of a number, symbolic or not: bool, int, float or complex."""
    return _SYMBOLIC.get(type(x), type(x))


def _rank(typ: type, *beside: type) -> int:
    if not all(each in _ORDERED for each in (typ, *beside)):
        raise RuntimeError(f"Expected builtin numeric types, found {', '.join(map(str, (typ, *beside)))}")
    return _ORDERED.index(typ)


def get_higher_type(a: type, b: type) -> type:
    """That of two types of numbers whose numbers contain the other's."""
    return a if _rank(a, b) >= _rank(b) else b


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether numbers of the one type are numbers of the other."""
    return _rank(a, b) <= _rank(b)


def get_higher_dtype(a: Any, b: Any) -> dtype | None:
    """The dtype to which two are promoted, given as themselves, by tensors or by numbers; None is no bound."""
    kinds = [_dtype_of(each) for each in (a, b) if each is not None]
    return dt.promote_types(kinds[0], kinds[-1]) if kinds else None


def _dtype_of(value: Any) -> dtype:
    if isinstance(value, _DTYPE):
        return value
    return value.dtype if isinstance(value, Tensor) else type_to_dtype(number_type(value))


def can_safe_cast_to(*, cast_to: dtype, cast_from: dtype) -> bool:
    """Whether nothing of a number's kind is lost by a cast."""
    kinds = (is_complex_dtype, is_float_dtype, is_integer_dtype, is_boolean_dtype)
    rank = [next(at for at, kind in enumerate(kinds) if kind(each)) for each in (cast_to, cast_from)]
    return rank[0] <= rank[1]


def elementwise_dtypes(*_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[dtype, dtype]:
    """In which dtype an elementwise function of these operands computes, and that of its result."""
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND
    operands = [each for each in _args if each is not None]
    for each in operands:
        if not isinstance(each, (Tensor, *_ORDERED, *_SYMBOLIC)):
            raise ValueError(f"Unexpected type {type(each)} when computing elementwise type promotion!")
    result = result_type(*operands)
    computed = get_computation_dtype(result)
    if type_promotion_kind is kind.NO_OPMATH:
        return result, result
    if type_promotion_kind is kind.INT_TO_FLOAT and not is_grad_dtype(result):
        result = computed = dt.get_default_dtype()
    elif type_promotion_kind is kind.COMPLEX_TO_FLOAT and result.is_complex:
        result = corresponding_real_dtype(result)
    elif type_promotion_kind is kind.BOOL_TO_LONG and result is dt.bool_:
        result = computed = dt.int64
    elif type_promotion_kind is kind.ALWAYS_BOOL:
        result = dt.bool_
    return computed, result


def reduction_dtypes(
    arg: Tensor, output_dtype_kind: REDUCTION_OUTPUT_TYPE_KIND, dtype: dtype | None = None
) -> tuple[dtype, dtype | None]:
    """In which dtype a reduction computes, and that of its result; None where that is what it computed in."""
    kind = REDUCTION_OUTPUT_TYPE_KIND
    given = dtype or arg.dtype
    computed = get_computation_dtype(given)
    if output_dtype_kind is kind.KEEP_PROMOTED_TYPE:
        return computed, None
    if output_dtype_kind is kind.ALWAYS_BOOL:
        return computed, dt.bool_
    to_real = output_dtype_kind is kind.COMPLEX_TO_FLOAT and given.is_complex
    return computed, corresponding_real_dtype(given) if to_real else given


def check_fp_or_complex(dtype: dtype, fn_name: str, allow_low_precision_dtypes: bool = True) -> None:
    """Raise where a function would be given whole numbers, or halves that it does not take."""
    if not is_grad_dtype(dtype):
        raise RuntimeError(f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}")
    if is_low_precision_dtype(dtype) and not allow_low_precision_dtypes:
        raise RuntimeError(f"{fn_name}: Half precision dtypes not supported. Got {dtype}")


def dtype_or_default(dtype: dtype | None) -> dtype:
    return dt.get_default_dtype() if dtype is None else dtype
