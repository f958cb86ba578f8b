"""Reading safetensors files: names and tensors, and nothing that could run."""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any

import numpy as np

from ..core.machine import Tensor
from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import CPU, contiguous_strides, dt
from ..core.values.device import device
from ..operations.making.pickles import MOST_DIMS, located
from .storages import true_or_false

_LONGEST_HEADER = 100_000_000

_DTYPES = {
    "BOOL": dt.bool_, "U8": dt.uint8, "I8": dt.int8, "U16": dt.uint16, "I16": dt.int16, "U32": dt.uint32,
    "I32": dt.int32, "U64": dt.uint64, "I64": dt.int64, "F16": dt.float16, "BF16": dt.bfloat16, "F32": dt.float32,
    "F64": dt.float64, "C64": dt.complex64, "F8_E4M3": dt.float8_e4m3fn, "F8_E5M2": dt.float8_e5m2,
    "F8_E8M0": dt.float8_e8m0fnu,
}  # fmt: skip


class SafetensorError(RuntimeError):
    """A file is not what safetensors files are."""


def read_safetensors(f: Any, map_location: Any = None) -> dict[str, Tensor]:
    """The tensors in a safetensors file, by name."""
    if map_location is not None and not isinstance(map_location, (str, device)):
        raise ValueError("map_location must be a str or torch.device to load a safetensors file")
    where = device(map_location) if map_location is not None else CPU
    with open(f, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header, start = _header(file, size)
        places = sorted([(_place(name, entry), name) for name, entry in header.items()], key=lambda p: p[0][:2])
        end = 0
        for (begin, stop, _, _), name in places:
            if begin != end:
                raise _error(f"invalid offset for tensor `{name}`")
            end = stop
        if start + end != size:
            raise _error("incomplete metadata, file not fully covered")
        found: dict[str, Tensor] = {}
        for (begin, stop, d, shape), name in places:
            memory = np.empty(stop - begin, np.uint8)
            if file.readinto(memory) != memory.size:  # type: ignore[arg-type]
                raise _error("incomplete metadata, file not fully covered")
            raw = UntypedStorage.over(true_or_false(memory) if d is dt.bool_ else memory)
            t = located(TypedStorage(wrap_storage=raw, dtype=d), d, 0, shape, contiguous_strides(shape))
            found[name] = t if where == CPU else t.to(where)
    return {name: found[name] for name in sorted(header)}


def _header(file: Any, size: int) -> tuple[dict[str, Any], int]:
    head = file.read(8)
    if len(head) < 8:
        raise _error("header too small")
    (length,) = struct.unpack("<Q", head)
    if length > _LONGEST_HEADER:
        raise _error("header too large")
    if 8 + length > size:
        raise _error("invalid header length")
    try:
        header = json.loads(file.read(length).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _error(f"invalid JSON in header: {error}") from None
    if not isinstance(header, dict):
        raise _error("invalid JSON in header: it is no map of names")
    header.pop("__metadata__", None)
    return header, 8 + length


def _place(name: str, entry: Any) -> tuple[int, int, dt.dtype, tuple[int, ...]]:
    """Where a tensor begins and ends, its dtype and shape."""
    try:
        d, shape, (begin, stop) = _DTYPES.get(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _error(f"invalid JSON in header: of tensor `{name}`") from None
    if d is None:
        raise NotImplementedError(f"torchlite has no tensors of dtype {entry['dtype']}, as `{name}` in this file is")
    numbers = (begin, stop, *shape)
    if len(shape) > MOST_DIMS:
        raise _error(f"tensor `{name}` has {len(shape)} dimensions, and the most here is {MOST_DIMS}")
    if not all(n.__class__ is int and n >= 0 for n in numbers) or math.prod(shape) * d.itemsize != stop - begin:
        raise _error(f"invalid shape, data type, or offset for tensor `{name}`")
    return begin, stop, d, shape


def _error(what: str) -> SafetensorError:
    return SafetensorError(f"Error while deserializing header: {what}")
