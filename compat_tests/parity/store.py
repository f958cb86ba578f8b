"""Neutral data in files: structure as JSON, all numbers of a dtype in one array. Strides of results are not kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from .neutral import Array, Device, Input, Name, Raised, Sequence, Unconvertible, numpy_dtype

# A dtype that NumPy's files do not know is written as the integer of its size.
_CARRIERS = {"bfloat16": np.dtype(np.int16)}


class Writer:
    """Turns neutral data into JSON values, and keeps the numbers for :meth:`save`."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[np.ndarray]] = {}
        self._lengths: dict[str, int] = {}

    def encode(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | str():
                return value
            case float() | complex():
                return {"number": repr(value)}
            case Input():
                where = self._keep(value.storage)
                flags = [int(value.requires_grad), int(value.conj)]
                return {"input": [*where, value.shape, value.strides, value.offset, *flags]}
            case Array() if value.dtype == value.values.dtype.name:
                where = self._keep(value.values.reshape(-1))
                return {"tensor": [*where, value.values.shape, int(value.requires_grad)]}
            case Sequence(kind=kind, items=items, name=name, fields=fields):
                return {kind: [*map(self.encode, items)]} | ({"name": name, "fields": fields} if fields else {})
            case Name(path=path):
                return {"path": path}
            case Device(name=name, as_object=as_object):
                return {"device": name, "as_object": as_object}
            case Raised():
                return {"raised": [value.name, value.builtin, value.message]}
            case slice():
                return {"slice": [self.encode(part) for part in (value.start, value.stop, value.step)]}
            case dict():
                return {"dict": {key: self.encode(item) for key, item in value.items()}}
        if value is ...:
            return {"ellipsis": True}
        raise Unconvertible(type(value).__name__)

    def _keep(self, numbers: np.ndarray) -> list[Any]:
        """Where a flat array goes: dtype, start and length."""
        dtype = numbers.dtype.name
        start = self._lengths.get(dtype, 0)
        self._numbers.setdefault(dtype, []).append(numbers)
        self._lengths[dtype] = start + numbers.size
        return [dtype, start, numbers.size]

    def save(self, file: Path, lines: list[Any]) -> None:
        """Writes ``file`` (JSON, one line for each of ``lines``) and the numbers beside it."""
        text = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        file.write_text(f"[\n{text}\n]\n")
        arrays = {dtype: np.concatenate(parts) for dtype, parts in self._numbers.items()}
        plain = {dtype: array.view(_CARRIERS.get(dtype, dtype)) for dtype, array in arrays.items()}
        np.savez_compressed(file.with_suffix(".npz"), **plain)


class Reader:
    """The lines that a :class:`Writer` saved, and the neutral data in them."""

    def __init__(self, file: Path) -> None:
        self.lines: list[Any] = json.loads(file.read_text())
        with np.load(file.with_suffix(".npz")) as arrays:
            self._numbers = {dtype: arrays[dtype].view(numpy_dtype(dtype)) for dtype in arrays.files}

    def decode(self, value: Any) -> Any:
        match value:
            case {"number": text}:
                return complex(text) if "j" in text else float(text)
            case {"input": [dtype, start, length, shape, strides, offset, requires_grad, conj]}:
                flat = self._numbers[dtype][start : start + length]
                return Input(dtype, flat, tuple(shape), tuple(strides), offset, bool(requires_grad), bool(conj))
            case {"tensor": [dtype, start, length, shape, requires_grad]}:
                flat = self._numbers[dtype][start : start + length]
                return Array(dtype, flat.reshape(shape), (), bool(requires_grad), "cpu")
            case {"path": path}:
                return Name(path)
            case {"device": name, "as_object": as_object}:
                return Device(name, as_object)
            case {"raised": parts}:
                return Raised(*parts)
            case {"slice": parts}:
                return slice(*map(self.decode, parts))
            case {"dict": items}:
                return {key: self.decode(item) for key, item in items.items()}
            case {"ellipsis": _}:
                return ...
            case {"namedtuple": items, "name": name, "fields": fields}:
                return Sequence("namedtuple", self._decode_all(items), name, tuple(fields))
            case dict():
                ((kind, items),) = value.items()
                return Sequence(kind, self._decode_all(items))
        return value

    def _decode_all(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(map(self.decode, items))
