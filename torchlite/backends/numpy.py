"""The CPU: NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..core.memory import Resized, root
from ..core.native import in_c, native
from ..core.structs import know
from ..core.values import CPU, dt, no_room
from ..core.values.device import device
from ..kernels.few import FITS, ByForm
from ..kernels.products import prod
from ..kernels.summing import add_reduce
from .base import Backend, cast_array, register_backend

if TYPE_CHECKING:
    from ..core.declare import Op

_FLAT = np.dtype(np.uint8)
_COPIED = 1024  # bytes

# NumPy's names, of functions that do not ask operands for functions of their own: kernels get nothing but arrays.
host = ModuleType("numpy")
host.__dict__.update({name: getattr(value, "_implementation", value) for name, value in vars(np).items()})

# The C library (glibc) gives the memory of a large array back to the system as soon as it is free, and gets it again
# page by page, which takes longer than most operations. Once it has seen so large an array go, it keeps smaller ones'.
np.empty(2**25 - 2**13, _FLAT)


# Kernels of its own: for small arrays, the time is in what a call must set up.

_ZEROS = {d.numpy: np.zeros((), d.numpy) for d in dt.DTYPES}
_HALF = np.dtype(np.float16)
_UNITS = {d.numpy: np.ones((), d.numpy) for d in dt.DTYPES}


def _ones_of_each_length(dtype: np.dtype) -> list[np.ndarray]:
    longest = np.ones(1024, dtype)
    return [longest[:n] for n in range(len(longest) + 1)]


_ONES = {d.numpy: _ones_of_each_length(d.numpy) for d in (dt.float32, dt.float64)}


def relu(array: np.ndarray) -> np.ndarray:
    dtype = array.dtype
    if dtype is _HALF:  # of equal ones it takes the first, and of other types the second: -0 stays
        return np.maximum(array, _ZEROS[dtype])
    return np.maximum(_ZEROS[dtype], array)


def sigmoid(array: np.ndarray) -> np.ndarray:
    result = np.asarray(np.negative(array))  # a number, of a 0-dim array
    np.exp(result, result)
    np.add(result, _UNITS[array.dtype], result)
    if array.dtype.kind == "c":  # zeros of quotients have other signs than those of NumPy's reciprocals
        return np.divide(_UNITS[array.dtype], result, result)
    return np.reciprocal(result, result)


def total(array: np.ndarray, axis: None, keepdim: bool) -> Any:
    """The sum of all elements; of few, by a dot product, which is faster than a reduction."""
    try:
        ones = _ONES[array.dtype][array.size]
    except LookupError:
        return np.add.reduce(array.ravel("K"))
    return array.ravel().dot(ones)


def mean(array: np.ndarray, axis: None, keepdim: bool) -> Any:
    return total(array, axis, keepdim) / array.size


def nansum(array: np.ndarray, axis: Any, keepdim: bool) -> Any:
    made = add_reduce(np, array, axis, keepdim)
    if array.dtype.kind != "f" or not np.isnan(made).any():  # then there is none among the elements
        return made
    return add_reduce(np, np.where(np.isnan(array), array.dtype.type(0), array), axis, keepdim)


def copied(array: np.ndarray, order: Literal["K", "C"] = "K") -> np.ndarray:
    return array.copy(order)


_SUMS = {"sum": in_c("sum", total), "mean": in_c("mean", mean)}
know(**_SUMS)


class NumPyBackend(Backend):
    xp = host
    Array = np.ndarray
    kernels: ClassVar[dict[str, Any]] = {
        "relu": relu, "sigmoid": sigmoid, "nansum": nansum, "prod": prod, "prod.dim_int": prod, **_SUMS,
    }  # fmt: skip

    asarray = staticmethod(np.asarray)  # type: ignore[assignment]
    sum = staticmethod(in_c("sum.dim_IntList", functools.partial(add_reduce, np)))
    cast = staticmethod(in_c("cast", cast_array))  # type: ignore[assignment]
    copy = staticmethod(in_c("copy.rows", copied))  # type: ignore[assignment]

    def __init__(self, device_: device) -> None:
        super().__init__(device_)
        if device_ == CPU and type(self) is NumPyBackend:
            know(cpu=self, guarded=self.guarded)

    def kernel(self, op: Op) -> Callable[..., Any]:
        """The kernel in C, which leaves to the one over NumPy what it does not know; without it, that one.

        Without any in C, some are made for few elements.
        """
        kernel = super().kernel(op)
        if native is None and op.name in FITS:
            return ByForm(kernel, FITS[op.name])
        return kernel if op.name in _SUMS else in_c(op.name, kernel)

    def fitted(self, kernel: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
        return kernel.fitted(*arguments) if isinstance(kernel, ByForm) else kernel

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        try:
            return np.empty(shape, dtype)
        except (MemoryError, ValueError):  # ValueErrors tell of sizes beyond 64 bits
            raise no_room(shape, dtype.itemsize) from None

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype) -> np.ndarray:
        if value.__class__ is int and value == 0:
            try:
                return np.zeros(shape, dtype)
            except (MemoryError, ValueError):
                raise no_room(shape, dtype.itemsize) from None
        array = self.empty(shape, dtype)
        host.copyto(array, value, casting="unsafe")
        return array

    def from_host(self, array: np.ndarray) -> np.ndarray:
        return array.copy("K")

    def from_fresh(self, array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        """The same numbers, as an array that is no view where that can be: operations on views ask for their strides.

        Many stay where they are in memory; few are copied in less time than it takes to give their array a shape.
        """
        if array.nbytes <= _COPIED:
            return array.reshape(shape).copy()
        whole = array if array.base is None else array.base
        own = isinstance(whole, np.ndarray) and whole.base is None and whole.dtype == array.dtype
        if own and whole.size == array.size and array.flags.c_contiguous and whole.flags.c_contiguous:
            whole.resize(shape, refcheck=False)  # which moves nothing, as the size is the same
            return whole
        return array.reshape(shape)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    number = to_host

    def write(self, array: np.ndarray, value: Any) -> None:
        host.copyto(array, value, casting="unsafe")

    def fill(self, array: np.ndarray, number: float) -> None:
        array.fill(number)

    def pointer(self, array: np.ndarray) -> int:
        return array.__array_interface__["data"][0]

    def storage(self, array: np.ndarray) -> np.ndarray:
        owner = root(array)
        if isinstance(owner, Resized):
            return owner.view(np.ndarray)[: owner.held]
        return owner.ravel("K").view(_FLAT)

    def as_strided(
        self, array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> np.ndarray:
        item, storage = array.itemsize, self.storage(array)
        start = offset * item
        if 0 in shape:  # nothing to reach
            start = min(start, storage.size)
        return np.ndarray(shape, array.dtype, storage, start, tuple([s * item for s in strides]))

    def lay(self, array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> np.ndarray:
        item = array.itemsize
        if array.flags.c_contiguous and offset * item <= array.nbytes:  # it can itself be the buffer
            return np.ndarray(shape, array.dtype, array, offset * item, tuple([s * item for s in strides]))
        return super().lay(array, shape, strides, offset)

    def spread(self, number: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return np.ndarray(shape, number.dtype, number, 0, (0,) * len(shape))


register_backend("cpu", NumPyBackend)
