"""What values become as arguments: of each type in a schema, what is taken for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..machine import TensorBase
from ..values.device import device
from ..values.dtype import bool_, dtype
from ..values.errors import miss
from ..values.layout import layout, memory_format
from .misfits import Mismatch, TooLong

LOWEST, HIGHEST, HIGHEST_SCALAR = -(2**63), 2**63 - 1, 2**64 - 1
OVERFLOW = "Overflow when unpacking long long"


def longs(function: str, argument: str, values: Sequence[Any]) -> tuple[int, ...]:
    """Ints of 64 bits each; PyTorch's error where one is longer."""
    made = tuple([v.__index__() for v in values])
    for at, n in enumerate(made, 1):
        if not LOWEST <= n <= HIGHEST:
            told = f"argument '{argument}' failed to unpack the object at pos {at}"
            raise TypeError(f'{function}(): {told} with error "{OVERFLOW}')
    return made


def is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def _scalar(value: Any) -> Any:
    number = number_of(value)
    if number.__class__ is int and not LOWEST <= number <= HIGHEST_SCALAR:
        raise TooLong
    return number


def number_of(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if _is_number(value):
        miss()
        return value.item()
    raise Mismatch


def _is_number(value: Any) -> bool:
    """Whether a tensor may be taken for a number: no gradient comes back through one."""
    return isinstance(value, TensorBase) and not value._array.shape and not value.requires_grad


def _int(value: Any) -> int:
    if value.__class__ is not int:
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
            raise Mismatch
        if getattr(value, "dtype", None) is bool_:
            raise Mismatch
        miss()
        try:
            value = value.__index__()
        except TypeError:
            raise Mismatch from None
    if not LOWEST <= value <= HIGHEST:
        raise TooLong
    return value


def int_alone(value: Any) -> int:
    """An int in place of a list: not all that has an index is one."""
    if isinstance(value, (int, np.integer, TensorBase)):
        return _int(value)
    raise Mismatch


# Ints that are neither dimensions nor sizes, and symbols no more than dimensions are.
NO_SIZES = frozenset((
    "axis", "axis0", "axis1", "bins", "blank", "chunks", "col", "compute_mode", "decimals", "divisor_override",
    "downscale_factor", "edge_order", "hop_length", "interpolation_mode", "mode", "n_fft", "num_classes", "num_groups",
    "offset", "padding_mode", "pow", "quant_max", "quant_min", "r", "reduction", "row", "steps", "upscale_factor",
    "win_length", "window_length", "zero_point",
))  # fmt: skip


def dim_alone(value: Any) -> int:
    """A dimension, or what is no size, which PyTorch asks for more than it does sizes: those may be symbols."""
    if isinstance(value, TensorBase) and value._array.shape:
        raise Mismatch
    return int_alone(value)


def _float(value: Any) -> float:
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if _is_number(value):
        miss()
        return float(value)
    raise Mismatch


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch


def _tensor(value: Any) -> Any:
    if is_tensor(value):
        return value
    raise Mismatch


def _operand(value: Any) -> Any:
    return value if is_tensor(value) else _scalar(value)


_PYTHON_DTYPES = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}


def dtype_of(value: Any) -> dtype | None:
    """The dtype that a value is, or that it stands for as one of Python's types."""
    if isinstance(value, type) and value in _PYTHON_DTYPES:
        from ..values.dtype import of_name

        return of_name(_PYTHON_DTYPES[value])
    return value if isinstance(value, dtype) else None


def _scalar_type(value: Any) -> dtype:
    found = dtype_of(value)
    if found is None:
        raise Mismatch
    return found


def _device(value: Any) -> Any:
    """What a device is made of, once all else fits: there may be none."""
    if isinstance(value, (str, int, device)) and not isinstance(value, bool):
        return value
    raise Mismatch


def _instance(cls: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, cls):
            return value
        raise Mismatch

    return check


def _generator(value: Any) -> Any:
    if hasattr(value, "manual_seed"):
        return value
    raise Mismatch


CONVERT: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor, "Operand": _operand, "Scalar": _scalar, "int": _int, "float": _float, "bool": _instance(bool),
    "str": _str, "ScalarType": _scalar_type, "Device": _device, "Layout": _instance(layout),
    "MemoryFormat": _instance(memory_format), "Generator": _generator, "any": lambda value: value,
}  # fmt: skip
