"""CUDA devices: CuPy arrays. Importing this module needs CuPy, making a backend a driver and a device."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import cupy
import cupyx
import numpy as np
from cupy import _core
from cupy._core import _routines_linalg

from ..core.declare import ViewOp
from ..core.values import arrays, is_dense, tell_of_half_complex
from ..core.values.device import device, no_cuda
from ..core.values.precision import follow_tf32
from . import cupy_waits as waits
from .base import Backend, register_backend
from .cupy_bits import WIDE, as_bits, as_type, in_wide, narrowed, of_bits, widened
from .cupy_kernels import (
    HALVES,
    KERNELS,
    REDUCED,
    Fused,
    asserts,
    either,
    follow,
    instead_of,
    of_pairs,
    over_lists,
    products,
    xp,
)
from .cupy_kernels.reductions import sum_of_halves
from .cupy_memory import take_over
from .cupy_random import PhiloxStream

if TYPE_CHECKING:
    from ..core.declare import Op

_FLAT = np.dtype(np.uint8)
_PINNED = 1  # cudaMemoryTypeHost
_HERE = ("empty", "full", "asarray", "from_host", "to_host", "bring", "cast", "copy", "write", "over_lists", "follow")
# Ops that show or copy memory of whatever type, or leave types to the backend.
_AS_THEY_LIE = frozenset(("clone", "_to_copy", "_unsafe_view", "view.dtype", "view_copy.dtype", "view_as_real_copy"))


def _outermost_first(array: Any) -> list[int]:
    return sorted(range(array.ndim), key=lambda i: -array.strides[i])


def _in_its_order(move: Callable[..., Any], array: Any) -> Any:
    """An array moved to or from the device: one that lies in one piece keeps its strides."""
    if array.flags.c_contiguous or not is_dense(array.shape, tuple([s // array.itemsize for s in array.strides])):
        return move(array)
    order = _outermost_first(array)
    return move(array.transpose(order)).transpose(np.argsort(order))


PROCESS = os.getpid()  # the one in which CUDA is used: those forked off it cannot use it


class CuPyBackend(Backend):
    xp = xp
    Array = cupy.ndarray
    held_as_bits, asserts = WIDE, True
    over_lists, follow = staticmethod(over_lists), staticmethod(follow)

    def kernel(self, op: Op) -> Callable[..., Any]:
        general, own = super().kernel(op), KERNELS.get(op.name)
        if op.by_pair is not None:
            own = of_pairs(op.by_pair)
        widens = op.elementwise and op.halves != "own"
        if widens or (op.elementwise and not op.on_backend and not isinstance(op.kernel, str)):
            fused = Fused(op.name, general, widens)
            named = isinstance(op.kernel, str)
            general = instead_of(general, fused, len(op.operands), op.halves == "wide") if named else fused
        made = general if own is None else either(own, general, op.name in REDUCED)
        return made if op.name in _AS_THEY_LIE or isinstance(op, ViewOp) else in_wide(made)

    def takes_halves(self, op: Op) -> bool:
        return op.name in HALVES or op.name in REDUCED or (op.elementwise and op.halves != "own")

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> cupy.ndarray:
        return as_type(cupy.empty(shape, of_bits(dtype)), dtype)

    def sum(self, array: cupy.ndarray, axis: Any, keepdims: bool) -> cupy.ndarray:
        made = sum_of_halves(array, axis, keepdims)
        return super().sum(array, axis, keepdims) if made is NotImplemented else made

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype) -> cupy.ndarray:
        made = cupy.full(shape, value, WIDE.get(dtype, dtype))
        return self.cast(made, dtype) if dtype in WIDE else made

    def asarray(self, value: Any, dtype: np.dtype | None = None) -> cupy.ndarray:
        if dtype is None or dtype not in WIDE:
            return cupy.asarray(value, dtype)
        return self.cast(cupy.asarray(value), dtype)

    def cast(self, array: cupy.ndarray, dtype: np.dtype) -> cupy.ndarray:
        if array.dtype in WIDE:
            array = _in_its_order(widened, array)
        wide = WIDE.get(dtype)
        if wide is None:
            return super().cast(array, dtype)
        if dtype.kind == "W":
            tell_of_half_complex()
        return _in_its_order(lambda numbers: narrowed(numbers, dtype), super().cast(array, wide))

    def copy(self, array: cupy.ndarray, order: str = "K") -> cupy.ndarray:
        return as_type(as_bits(array).copy(order), array.dtype)

    def write(self, array: cupy.ndarray, value: Any) -> None:
        if array.dtype in WIDE:
            value = cupy.asarray(value)
            given = value if value.dtype == array.dtype else self.cast(value, array.dtype)
            array, value = as_bits(array), as_bits(given)
        elif value.__class__ is cupy.ndarray and value.dtype in WIDE:
            value = widened(value)
        array[...] = value

    def from_host(self, array: np.ndarray) -> cupy.ndarray:
        return as_type(_in_its_order(cupy.array, as_bits(array)), array.dtype)

    def from_fresh(self, array: Any, shape: Sequence[int]) -> cupy.ndarray:
        if array.__class__ is not cupy.ndarray:
            return super().from_fresh(array, shape)
        array.shape = tuple(shape)
        return array

    def random_stream(self, seed: int) -> PhiloxStream:
        return PhiloxStream(seed, self.device.index or 0)

    def to_host(self, array: cupy.ndarray) -> np.ndarray:
        if waits.told:
            waits.tell()
        host = _in_its_order(cupy.ndarray.get, as_bits(array))
        asserts.check()
        return as_type(host, array.dtype)

    def bring(self, array: arrays.Array, source: Backend) -> cupy.ndarray:
        return self.copy(array) if isinstance(source, CuPyBackend) else super().bring(array, source)

    def borrow(self, owner: Any) -> cupy.ndarray:
        """The memory of an object with a `__cuda_array_interface__`, as an array."""
        return cupy.asarray(owner)

    def pinned(self, array: np.ndarray) -> np.ndarray:
        """A copy in page-locked memory of the host."""
        made = cupyx.empty_pinned(array.shape, array.dtype)
        np.copyto(made, array)
        return made

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether an array of the host lies in page-locked memory."""
        return cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).type == _PINNED

    def synchronize(self) -> None:
        cupy.cuda.Device(self.device.index).synchronize()
        asserts.check()

    def pointer(self, array: cupy.ndarray) -> int:
        return array.data.ptr

    def storage(self, array: cupy.ndarray) -> cupy.ndarray:
        owner = array if array.base is None else array.base
        return owner.transpose(_outermost_first(owner)).reshape(-1).view(_FLAT)

    def as_strided(
        self, array: cupy.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> cupy.ndarray:
        item, storage = array.itemsize, self.storage(array)
        if 0 in shape:
            view = storage[:0].view(array.dtype)
        else:
            if (offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))) * item > storage.size:
                raise ValueError("strides and offset lead out of the storage")
            view = storage[offset * item : (offset + 1) * item].view(array.dtype)
        # Unlike a new array over the pointer, the view keeps its base, and with it the extent of the storage.
        view._set_shape_and_strides(shape, tuple([s * item for s in strides]), True, True)
        return view


class OneOfSeveral(CuPyBackend):
    """A device beside others: it is made the current one for all that allocates or computes."""

    def __init__(self, device_: device) -> None:
        super().__init__(device_)
        for name in _HERE:
            setattr(self, name, self._here(getattr(self, name)))

    def kernel(self, op: Op) -> Callable[..., Any]:
        return self._here(super().kernel(op))

    def _here(self, f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any) -> Any:
            with cupy.cuda.Device(self.device.index):
                return f(*args)

        return call


def _device_count() -> int:
    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise no_cuda() from error


def _make(d: device) -> CuPyBackend:
    count = _device_count()
    if d.index is None or d.index >= count:
        raise RuntimeError("CUDA error: invalid device ordinal")
    asserts.places()  # which cannot be allocated while a graph is captured
    return OneOfSeveral(d) if count > 1 else CuPyBackend(d)


def _current() -> int:
    return cupy.cuda.runtime.getDevice() if _device_count() else 0


def _use_tf32(allowed: bool) -> None:
    compute = _routines_linalg.COMPUTE_TYPE_TF32 if allowed else _routines_linalg.COMPUTE_TYPE_DEFAULT
    _core.set_compute_type(np.float32, compute)


take_over()
follow_tf32(_use_tf32)
follow_tf32(products.use_tf32)
register_backend("cuda", _make, _current)
