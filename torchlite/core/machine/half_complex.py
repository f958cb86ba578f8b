"""complex32, which few ops have kernels for: what the others are refused with, and arguments of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..values import Backend, dt
from ..values.errors import not_implemented_for
from .operands import array_of
from .tensor_parts import TensorBase

no_kernel: dict[str, str] = {}  # by op: what errors call the kernel that there is none of
idle: dict[str, Callable[..., bool]] = {}  # by op: whether a kernel has nothing to do, so that nobody looks for it
computed_wide: set[str] = set()  # ops that are computed in complex64; others only move elements


def refuse_half_complex(op: str, d: dt.dtype, values: Sequence[Any]) -> None:
    if d is dt.complex32 and op in no_kernel and not (op in idle and idle[op](*values)):
        raise not_implemented_for(no_kernel[op], d)


def half_complex_arguments(op: str, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype | None]:
    """The kernel's arguments, and the result dtype, of an op with such tensors among its operands."""
    refuse_half_complex(op, dt.complex32, values)
    if op not in computed_wide:
        return [array_of(v) for v in values], None
    wide = dt.complex64.numpy
    halves = [isinstance(v, TensorBase) and v.dtype is dt.complex32 for v in values]
    arrays = [backend.cast(v.array, wide) if half else array_of(v) for v, half in zip(values, halves, strict=True)]
    return arrays, dt.complex32
