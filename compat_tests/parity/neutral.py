"""Plain data that stand for values of either library: inputs to build, and results that were seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

_NUMPY_DTYPES = {
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "complex32": np.dtype(np.complex64),
    "bool": np.dtype(np.bool_),
    **{f"int{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{f"complex{bits}": np.dtype(f"complex{bits}") for bits in (64, 128)},
}


class Unconvertible(Exception):
    """This value has no neutral form, so a sample that holds it is left out (and counted)."""


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype that holds the values of the tensor dtype ``name``."""
    if name not in _NUMPY_DTYPES:
        raise Unconvertible(f"dtype {name}")
    return _NUMPY_DTYPES[name]


def is_inexact(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))


@dataclass(frozen=True, eq=False)
class Input:
    """A tensor to build: a whole storage and the view of it. The same object twice is the same tensor twice."""

    dtype: str
    storage: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    requires_grad: bool = False
    conj: bool = False

    @classmethod
    def of(cls, values: np.ndarray, dtype: str, requires_grad: bool = False) -> Input:
        """A contiguous tensor of ``values``."""
        shape = values.shape
        strides = tuple(math.prod(max(size, 1) for size in shape[dim + 1 :]) for dim in range(len(shape)))
        return cls(dtype, np.ascontiguousarray(values).reshape(-1), shape, strides, requires_grad=requires_grad)

    @property
    def view(self) -> np.ndarray:
        """The elements of the storage that the tensor shows, before conjugation."""
        step = self.storage.itemsize
        return np.lib.stride_tricks.as_strided(
            self.storage[self.offset :], self.shape, [stride * step for stride in self.strides]
        )

    @property
    def values(self) -> np.ndarray:
        return self.view.conj() if self.conj else self.view

    @property
    def is_dense(self) -> bool:
        """Whether the tensor is its whole storage, each element once."""
        expected = 1
        for stride, size in sorted((s, n) for s, n in zip(self.strides, self.shape) if n != 1):
            if stride != expected:
                return False
            expected *= size
        return self.offset == 0 and expected == self.storage.size


@dataclass(frozen=True, eq=False)
class SparseInput:
    """A tensor of a sparse layout to build: its indices, of one kind or two, and its values."""

    layout: str
    parts: tuple[Input, ...]
    shape: tuple[int, ...]
    requires_grad: bool = False
    coalesced: bool | None = None

    @property
    def dtype(self) -> str:
        return self.parts[-1].dtype

    @property
    def values(self) -> np.ndarray:
        return self.parts[-1].values


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor that was seen."""

    dtype: str
    values: np.ndarray
    strides: tuple[int, ...]
    requires_grad: bool
    device: str


@dataclass(frozen=True)
class Name:
    """Something that both libraries have under the same dotted path, as ``torch.float32`` or ``torch.linalg.det``."""

    path: str


@dataclass(frozen=True)
class Device:
    """A device, given by its name or as a ``torch.device``. ``cpu`` stands for the device under test."""

    name: str
    as_object: bool


@dataclass(frozen=True)
class Generator:
    """A random generator by its seed."""

    seed: int


@dataclass(frozen=True, eq=False)
class Deferred:
    """Something that each library must make for itself: ``make(library)``."""

    make: Callable[[Any], Any]
    label: str


@dataclass(frozen=True)
class Sequence:
    """A list, a ``torch.Size`` or a tuple; a named tuple has its type's name and its fields."""

    kind: str
    items: tuple[Any, ...]
    name: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Raised:
    """An exception: its own name, the built-in exception that it is, and its text."""

    name: str
    builtin: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        builtin = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
        return cls(type(error).__name__.lstrip("_"), builtin.__name__, str(error))


def inputs_in(*trees: Any) -> Iterator[Input | SparseInput]:
    """Every tensor in neutral trees, each once, in the order of first appearance."""
    seen: set[int] = set()

    def walk(node: Any) -> Iterator[Input | SparseInput]:
        match node:
            case Input() | SparseInput():
                if id(node) not in seen:
                    seen.add(id(node))
                    yield node
            case Sequence(items=items):
                for item in items:
                    yield from walk(item)
            case dict():
                for item in node.values():
                    yield from walk(item)
            case slice():
                for item in (node.start, node.stop, node.step):
                    yield from walk(item)

    for tree in trees:
        yield from walk(tree)
