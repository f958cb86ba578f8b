"""Nested sequences of numbers as arrays: the shape that their first items have, the dtype of all, their values."""

from __future__ import annotations

import operator
from itertools import chain, islice
from typing import Any

import numpy as np

from ...backends.base import get_backend, rounded
from ...core.machine import TensorBase
from ...core.state import local
from ...core.values import CPU, dt, type_name, warn_once

_NUMBERS = (bool, int, float, complex)
_PLAIN, _SEQUENCES = frozenset(_NUMBERS), frozenset((list, tuple))
_DEEPEST = 128  # levels of sequences
_SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
    "single numpy.ndarray with numpy.array() before converting to a tensor."
)


def _sequence(data: Any) -> bool:
    kind = data.__class__
    if kind in _SEQUENCES or kind in _PLAIN:
        return kind in _SEQUENCES
    if isinstance(data, np.generic):
        return isinstance(data, np.flexible)
    return hasattr(type(data), "__getitem__") and not isinstance(data, (dict, TensorBase))


def shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, going by the first item of each."""
    shape: list[int] = []
    while _sequence(data):
        shape.append(len(data))
        if len(shape) > _DEEPEST:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def natural_complex() -> dt.dtype:
    """The dtype of complex numbers, for which there is none beside bfloat16."""
    if dt.get_default_dtype() is dt.bfloat16:
        raise RuntimeError("invalid default scalar type for complex")
    return dt.default_complex()


def inferred(data: Any) -> dt.dtype:
    """The dtype of a tensor made from `data`."""
    if isinstance(data, _NUMBERS) and not isinstance(data, np.generic):
        return natural_complex() if isinstance(data, complex) else dt.of_number(data)
    if isinstance(data, (np.generic, np.ndarray)):
        return dt.of_numpy(data.dtype)
    if isinstance(data, TensorBase):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    found: dt.dtype | None = None
    for item in data if data.__class__ in _SEQUENCES else (data[i] for i in range(len(data))):
        if item is data:
            raise TypeError("new(): self-referential lists are incompatible")
        d = inferred(item)
        found = d if found is None else dt.promote_types(found, d)
        if found is dt.complex128:
            break
    return found or dt.get_default_dtype()


def array_of(data: Any, d: dt.dtype | None) -> tuple[np.ndarray, dt.dtype]:
    """A fresh array of nested sequences or a number, and the dtype it stands for."""
    shape = shape_of(data)
    get_backend(CPU).check_room(shape, (d or dt.uint8).numpy)
    made = _of_plain_numbers(data, shape, d)
    if made is not None:
        return made
    found = d or inferred(data)
    array = get_backend(CPU).empty(shape, found.numpy)
    if found.category < dt.FLOAT:
        _fill(array, data, 0, found)
    else:
        local.state.quiet(_fill, array, data, 0, found)
    return array, found


def _of_plain_numbers(data: Any, shape: tuple[int, ...], d: dt.dtype | None) -> tuple[np.ndarray, dt.dtype] | None:
    """An array of nested lists of Python numbers, made at once; None where each number has to be looked at."""
    if data.__class__ not in _SEQUENCES or 0 in shape:
        return None
    for n in shape[1:]:
        if not _SEQUENCES.issuperset(map(type, data)) or {n} != set(map(len, data)):
            return None
        data = list(chain.from_iterable(data))
    kinds = set(map(type, data))
    if not _PLAIN.issuperset(kinds):
        return None
    kind = max(kinds, key=_NUMBERS.index) if len(kinds) > 1 else kinds.pop()
    natural = natural_complex() if kind is complex and d is None else dt.of_number(kind())
    if d is not None and d is not natural and d.category < max(natural.category, dt.FLOAT):
        return None
    try:
        array = np.array(data, kind).reshape(shape)
    except OverflowError:
        return None
    d = d or natural
    return local.state.quiet(rounded, array, d.numpy), d


def _fill(array: np.ndarray, data: Any, dim: int, d: dt.dtype) -> None:
    """Write nested data into an array of the shape that its first items have."""
    if not array.ndim:
        array[...] = _value(data, d)
    if not array.size or not array.ndim:
        return
    if not _sequence(data):
        raise TypeError("not a sequence")
    # What it gives now: it may have told of another number, may never end, and its items may change it.
    items = list(data) if data.__class__ in _SEQUENCES else list(islice(data, len(array) + 1))
    if len(items) != len(array):
        raise ValueError(f"expected sequence of length {len(array)} at dim {dim} (got {len(items)})")
    for item in items:
        if isinstance(item, np.ndarray):
            warn_once(_SLOW)
    if array.ndim > 1:
        for part, item in zip(array, items, strict=True):
            _fill(part, item, dim + 1, d)
    elif data.__class__ is np.ndarray and data.dtype == array.dtype and d is not dt.uint64:
        array[...] = data
    else:
        for i, item in enumerate(items):
            array[i] = _value(item, d)


def _value(item: Any, d: dt.dtype) -> Any:
    if d is dt.uint64:
        if not isinstance(item, int):
            raise TypeError("an integer is required")
        return _unsigned(item)
    if isinstance(item, np.generic) and not isinstance(item, np.flexible) and d.category >= dt.FLOAT:
        return item
    if isinstance(item, np.bool_) and d is dt.bool_:
        return bool(item)
    if not isinstance(item, _NUMBERS):
        item = _number(item, d)
    if isinstance(item, complex) and not d.is_complex and d is not dt.bool_:
        raise _no_number(item, d)
    return _integer(item, d) if d.category == dt.INT and item.__class__ is not bool else item


def _unsigned(item: int) -> int:
    """A number of 64 bits without a sign."""
    if item < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if item >> 64:
        raise OverflowError("int too big to convert")
    return item


def _integer(item: int | float, d: dt.dtype) -> int:
    """A number as an integer of a dtype; of an unsigned one, negative integers are counted from its end."""
    if isinstance(item, int) and not -(1 << 63) <= item < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    count = 1 << d.itemsize * 8
    low, high = (-count // 2, count // 2 - 1) if d.is_signed else (1 - count, count - 1)
    if not (0 if isinstance(item, float) and not d.is_signed else low) <= item <= high:
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
    return int(item) if d.is_signed else int(item) % count


def _number(item: Any, d: dt.dtype) -> complex:
    """The number that an object of another class says it is."""
    if not isinstance(item, (type, str, bytes)):
        if d.is_complex and hasattr(item, "__complex__"):
            return complex(item)
        if d.category >= dt.FLOAT and hasattr(item, "__float__"):
            return float(item)
        if hasattr(item, "__index__"):
            return operator.index(item)
    raise _no_number(item, d)


def _no_number(item: Any, d: dt.dtype) -> TypeError:
    kind = type_name(item)
    integer = f"'{kind}' object cannot be interpreted as an integer"
    return TypeError(f"must be real number, not {kind}" if d.category >= dt.FLOAT else integer)
