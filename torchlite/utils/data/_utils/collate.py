"""Making a batch of samples."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ....backends.base import get_backend
from ....core.machine import Tensor, functions, wrap
from ....core.memory import SharedPages
from ....core.state import local
from ....core.values import dt
from ....operations.making.host_data import as_tensor, tensor
from .worker_info import get_worker_info

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # NumPy's dtypes that tensors do not have


def default_convert(data: Any) -> Any:
    """Turn NumPy arrays and numbers into tensors, in containers too. What else there is stays as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, (Mapping, Sequence)) and not isinstance(data, (str, bytes)):
        return converted(data, default_convert)
    return data


def converted(container: Mapping[Any, Any] | Sequence[Any], convert: Callable[[Any], Any]) -> Any:
    """A container of what a function makes of the values in another."""
    if isinstance(container, Mapping):
        return _rebuilt(container, {key: convert(container[key]) for key in container})
    return _rebuilt(container, [convert(part) for part in container])


def _rebuilt(container: Any, parts: dict[Any, Any] | list[Any]) -> Any:
    """A container of the same type with other contents; where it cannot be made, or is a tuple, a plain one."""
    kind = type(container)
    if isinstance(parts, list) and isinstance(container, tuple):
        return kind(*parts) if hasattr(container, "_fields") else parts
    try:
        made: Any
        if isinstance(container, MutableMapping):
            made = copy.copy(container)
            made.update(parts)
            return made
        if isinstance(container, MutableSequence):
            made = copy.copy(container)
            for i, part in enumerate(parts):
                made[i] = part
            return made
        return kind(parts)
    except TypeError:
        return parts


def collate(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable[..., Any]] | None = None) -> Any:
    """Make a batch by the functions that a table has for the type of the samples, in containers for each place."""
    sample = batch[0]
    collated = _function_for(sample, collate_fn_map or {})
    if collated is not None:
        return collated(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        parts = {key: collate([s[key] for s in batch], collate_fn_map=collate_fn_map) for key in sample}
        return _rebuilt(sample, parts)
    if isinstance(sample, Sequence):
        length = len(sample)
        if any([len(s) != length for s in batch]):
            raise RuntimeError("each element in list of batch should be of equal size")
        return _rebuilt(sample, [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    raise TypeError(default_collate_err_msg_format.format(type(sample)))


def _function_for(sample: Any, functions: dict[Any, Callable[..., Any]]) -> Callable[..., Any] | None:
    found = functions.get(type(sample))
    if found is None:
        for kind in functions:
            if isinstance(sample, kind):
                return functions[kind]
    return found


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    stacked = _stacked(batch) if isinstance(batch, (list, tuple)) else None
    return functions["stack"](batch, 0) if stacked is None else stacked


def _stacked(batch: Any) -> Tensor | None:
    """Plain tensors on the CPU, stacked; in a worker, in memory from which they need not be copied any more."""
    host = get_backend()
    if not local.state.mode.plain or not all([type(t) is Tensor and t._backend is host for t in batch]):
        return None
    first = batch[0]
    d, shape = first.dtype, first._array.shape
    if any([t.dtype is not d or t._array.shape != shape or t.requires_grad for t in batch]):
        return None
    arrays = [t._array for t in batch]
    if get_worker_info() is None:
        return wrap(np.array(arrays), d, host)
    nbytes = len(batch) * first.nbytes
    memory = SharedPages.fresh(nbytes).array(0, nbytes).view(d.numpy).reshape(len(batch), *shape)
    return wrap(np.stack(arrays, out=memory), d, host)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch, dtype=dt.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Make a batch: of tensors, arrays and numbers one tensor with a dimension more, of containers one of batches."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
