"""One use of a collective: the arrays that its tensors lend an engine, and what is put back when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import Array
from .engines.base import Engine
from .reduction import Reduction


class Call:
    """Tensors on their way through a collective.

    An engine is lent the memory of a tensor itself, or a copy: of one whose elements are not in a row, or of one on a
    device that it knows nothing of.
    """

    def __init__(self, name: str, engine: Engine, results: Sequence[Tensor], given: Sequence[Tensor]) -> None:
        self.name, self.engine, self.results, self.given = name, engine, list(results), list(given)
        self._returns: list[Callable[[], Any]] = []
        self.task: Callable[[], Any]  # which is given when it is to be done

    def shapes(self) -> list[list[int]]:
        """Those of what it begins with, as profilers show them."""
        return [real_shape(tensor) for tensor in self.given]

    def read(self, tensor: Tensor) -> Array:
        """A flat array to read from."""
        return self._lend(tensor)[0]

    def fill(self, tensor: Tensor) -> Array:
        """A flat array to write to; what is in it ends up in the tensor."""
        array, copy = self._lend(tensor)
        if copy is not None:
            own = tensor.data  # which does not count writes, as PyTorch does not
            self._returns.append(lambda: own.copy_(copy))
        return array

    def _lend(self, tensor: Tensor) -> tuple[Array, Tensor | None]:
        backend, array = tensor._backend, tensor._array
        if not backend.level and backend.device.type == self.engine.device and array.flags.c_contiguous:
            return array.reshape(-1), None
        copy = tensor.data.to(self.engine.device).resolve_conj().resolve_neg().contiguous()
        if copy._array is array:
            copy = copy.clone()
        return copy._array.reshape(-1), copy

    def settle(self) -> None:
        """Bring what was written into copies to the tensors."""
        for put_back in self._returns:
            put_back()

    def run(self) -> None:
        self.task()
        self.settle()


def real_shape(tensor: Tensor) -> list[int]:
    """The shape as which a tensor travels: complex numbers as pairs."""
    return [*tensor.shape, 2] if tensor.dtype.is_complex else list(tensor.shape)


def split(array: Array, count: int) -> list[Array]:
    """An array in so many equal parts."""
    step = array.size // count
    return [array[number * step : (number + 1) * step] for number in range(count)]


def split_by(array: Array, row: int, sizes: Sequence[int]) -> list[Array]:
    """An array in parts of so many rows each."""
    parts, at = [], 0
    for size in sizes:
        parts.append(array[at : at + size * row])
        at += size * row
    return parts


def multiplied(array: Array, reduction: Reduction, own: bool) -> Array:
    """What is to be reduced; written into the array itself if that is to be the result."""
    if reduction.factor is None:
        return array
    factor = array.dtype.type(float(reduction.factor))
    if not own:
        return array * factor
    array *= factor
    return array


def averaged(array: Array, reduction: Reduction, size: int) -> None:
    """Make the mean of a sum, in place, if that is what was asked for."""
    if reduction.mean:
        parts = array.view(array.real.dtype)  # complex numbers part by part
        parts /= parts.dtype.type(size)
