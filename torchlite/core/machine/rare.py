"""Types that few ops have kernels for, complex32, floats of 8 bits and wide unsigned integers: how others refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..values import Backend, dt, not_implemented_for
from .operands import array_of
from .tensor_base import TensorBase

RARE = dt.EIGHT_BITS | dt.UNSIGNED | {dt.complex32}
kernel_names: dict[str, str] = {}  # by op: what errors call its kernel
lacking: dict[dt.dtype, frozenset[str]] = {}  # by type: the ops that have no kernel for it
idle: dict[str, Callable[..., bool]] = {}  # by op: whether a kernel has nothing to do, so that nobody looks for it
computed_wide: set[str] = set()  # ops that are computed in complex64; others only move elements


def is_idle(op: str, values: Sequence[Any]) -> bool:
    return op in idle and idle[op](*values)


def refuse_rare(op: str, d: dt.dtype, values: Sequence[Any]) -> None:
    if d in RARE and op in lacking[d] and not is_idle(op, values):
        raise not_implemented_for(kernel_names[op], d)


def rare_arguments(op: str, d: dt.dtype, values: Sequence[Any], backend: Backend) -> tuple[list[Any], dt.dtype | None]:
    """The kernel's arguments, and the result dtype, of an op with tensors of such a type among its operands."""
    if d is not dt.complex32 or op not in computed_wide:
        return [array_of(v) for v in values], None
    wide = dt.complex64.numpy
    halves = [isinstance(v, TensorBase) and v.dtype is dt.complex32 for v in values]
    arrays = [backend.cast(v._array, wide) if half else array_of(v) for v, half in zip(values, halves, strict=True)]
    return arrays, dt.complex32
