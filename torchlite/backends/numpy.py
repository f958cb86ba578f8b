"""The CPU: NumPy arrays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .base import Backend, register_backend

_FLAT = np.dtype(np.uint8)


def root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory (or borrowed it first)."""
    base = array.base
    while isinstance(base, np.ndarray):
        array = base
        base = array.base
    return array


class NumPyBackend(Backend):
    xp = np
    Array = np.ndarray
    kernels: ClassVar[dict[str, Any]] = {}

    asarray = staticmethod(np.asarray)
    empty = staticmethod(np.empty)
    full = staticmethod(np.full)

    def from_host(self, array: np.ndarray) -> np.ndarray:
        return array.copy("K")

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def write(self, array: np.ndarray, value: Any) -> None:
        np.copyto(array, value, casting="unsafe")

    def pointer(self, array: np.ndarray) -> int:
        return array.__array_interface__["data"][0]

    def storage(self, array: np.ndarray) -> np.ndarray:
        owner = root(array)
        low, high = np.lib.array_utils.byte_bounds(owner)
        if high - low == owner.nbytes:
            return owner.ravel("K").view(_FLAT)
        # Memory borrowed with gaps: everything from its lowest to its highest address.
        first = owner[tuple([-1 if s < 0 else 0 for s in owner.strides])]
        count = (high - low) // owner.itemsize
        return np.lib.stride_tricks.as_strided(first, (count,), (owner.itemsize,)).view(_FLAT)

    def as_strided(
        self, array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> np.ndarray:
        item = array.itemsize
        if 0 in shape:  # nothing to reach
            offset = 0
        return np.ndarray(shape, array.dtype, self.storage(array), offset * item, tuple([s * item for s in strides]))

    def lay(self, array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> np.ndarray:
        if 0 in shape:
            offset = 0
        if array.flags.c_contiguous:  # it can itself be the buffer
            item = array.itemsize
            return np.ndarray(shape, array.dtype, array, offset * item, tuple([s * item for s in strides]))
        return super().lay(array, shape, strides, offset)


register_backend("cpu", NumPyBackend)
