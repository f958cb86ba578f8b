"""Types that CuPy has no arrays of, floats of 8 bits and complex32: arrays that show bits, and their way to others.

Views of integers can be of any type, so these are what tensors hold. Kernels are given float32 or complex64 in their
place, which tell all their numbers apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ..core.values import dt
from .base import rounded

_COMPLEX, _FLOAT = np.dtype(np.complex64), np.dtype(np.float32)
WIDE = {d.numpy: _COMPLEX if d is dt.complex32 else _FLOAT for d in dt.DTYPES if d in {*dt.EIGHT_BITS, dt.complex32}}
_INTEGERS: dict[int, np.dtype] = {1: np.dtype(np.uint8), 4: np.dtype(np.uint32)}  # by bytes


def of_bits(dtype: np.dtype) -> np.dtype:
    """The integers whose arrays hold the bits of such a type; other types themselves."""
    return _INTEGERS[dtype.itemsize] if dtype in WIDE else dtype


def as_type(array: Any, dtype: np.dtype) -> Any:
    """The same bits as numbers of this type; the array itself where it is of it."""
    return array if array.dtype == dtype else array.view(dtype)


def as_bits(array: Any) -> Any:
    return as_type(array, of_bits(array.dtype))


def widened(array: Any) -> Any:
    """The numbers of an array of bits, row by row."""
    bits = cupy.ascontiguousarray(as_bits(array))
    if WIDE[array.dtype] is _FLOAT:
        return _numbers(array.dtype, cupy.cuda.runtime.getDevice())[bits].reshape(array.shape)
    return bits.reshape(-1).view(np.float16).astype(_FLOAT).view(_COMPLEX).reshape(array.shape)


def narrowed(array: Any, dtype: np.dtype) -> Any:
    """The bits of what numbers of float32 or complex64 are in such a type, row by row."""
    numbers = cupy.ascontiguousarray(array).reshape(-1)
    if WIDE[dtype] is _COMPLEX:
        return numbers.view(_FLOAT).astype(np.float16).view(np.uint32).reshape(array.shape).view(dtype)
    bits = numbers.view(np.uint32)
    # Half of a number, its last bit set where anything was cut off, rounds as the whole does.
    half = (bits >> 16) | ((bits & 0xFFFF) != 0)
    return _roundings(dtype, cupy.cuda.runtime.getDevice())[half].reshape(array.shape).view(dtype)


@functools.cache
def _numbers(dtype: np.dtype, device: int) -> Any:
    """What all bits of a type stand for."""
    return cupy.asarray(np.arange(256, dtype=np.uint8).view(dtype).astype(_FLOAT))


@functools.cache
def _roundings(dtype: np.dtype, device: int) -> Any:
    """The bits of what all numbers of bfloat16 are rounded to."""
    numbers = np.arange(1 << 16, dtype=np.uint16).view(dt.bfloat16.numpy)
    with np.errstate(all="ignore"):
        return cupy.asarray(rounded(numbers.astype(_FLOAT), dtype).view(np.uint8))


def _is_rare(value: Any) -> bool:
    if value.__class__ is cupy.ndarray:
        return value.dtype in WIDE
    return (value.__class__ is list or value.__class__ is tuple) and any(map(_is_rare, value))


def in_wide(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel for these types, too: it is given wide numbers, and what it makes of them is narrowed."""

    def call(*arguments: Any) -> Any:
        for argument in arguments:
            if _is_rare(argument):
                return in_place_of(arguments)
        return kernel(*arguments)

    def in_place_of(arguments: tuple[Any, ...]) -> Any:
        types: dict[np.dtype, np.dtype] = {}  # by the wide ones

        def wide(value: Any) -> Any:
            if value.__class__ is list or value.__class__ is tuple:
                return value.__class__(map(wide, value))
            if not _is_rare(value):
                return value
            types[WIDE[value.dtype]] = value.dtype
            return widened(value)

        def narrow(value: Any) -> Any:
            if value.__class__ is list or value.__class__ is tuple:
                return value.__class__(map(narrow, value))
            dtype = types.get(value.dtype) if value.__class__ is cupy.ndarray else None
            return value if dtype is None else narrowed(value, dtype)

        given = [wide(a) for a in arguments]
        return narrow(kernel(*given))

    return call
