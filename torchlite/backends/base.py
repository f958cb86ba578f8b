"""What a backend must offer, and the registry of those there are.

A backend is one object per device. It makes, moves and describes arrays, and has an array namespace `xp` over which
the ops' kernels are written. A kernel is looked up as: the backend's own (`kernels[op name]`), then the op's kernel
over `xp`; an op with neither raises NotImplementedError naming op and backend.

To add one, subclass `Backend` and call `register_backend("name", make)`, or let an installed package offer `make`
as an entry point in the group `torchlite.backends`. `python -m torchlite.testing.backend NAME` tries it out.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..core.values import arrays
from ..core.values import dtype as dt
from ..core.values.arrays import Namespace, for_namespace
from ..core.values.device import (
    backend_names,
    device,
    find_installed,
    get_backend,
    register_backend,
    register_on_demand,
)
from ..core.values.errors import missing_kernel, tell_of_half_complex, tell_of_lost_part
from ..core.values.layout import NAMES, contiguous_strides
from ..kernels.cpu_random import MT19937Stream
from ..kernels.summing import add_reduce

if TYPE_CHECKING:
    from ..core.declare import Op


__all__ = ["Backend", "backend_names", "cast_array", "find_installed", "get_backend", "register_backend", "rounded"]


class Backend:
    """The arrays and kernels of one device.

    The methods here are written for an `xp` that follows NumPy (CuPy does); override what differs.
    Shapes are tuples, strides and offsets count elements, dtypes are NumPy's.
    """

    xp: Namespace  # the array namespace
    Array: Any  # the class that its kernels return; anything else they return is passed through `asarray`
    kernels: ClassVar[dict[str, Callable[..., Any]]] = {}  # its own kernels, by op name, from arrays to arrays
    strided = True  # arrays have strides over a storage; False for transform backends
    layout: Any = NAMES["strided"]  # how tensors of this backend are stored
    shows = True  # arrays can show the memory of others
    level = 0  # 1: lazy backends, 2 and 3: sparse ones, 4: handed ones; more: running transforms, later begun the more
    owner: Any = None  # of a running transform's, the level
    handed = False  # whether ops are handed to the tensors' classes, see _library/instances.py
    quantized = False  # whether integers stand for numbers, see of_integers.py
    lazy = False  # whether values are yet to be computed from those in memory, see lazy.py
    bits = 0  # how: whether the values are conjugates, negatives, or both
    bare = True  # whether an array and its dtype are all there is to say about a tensor
    values = True  # arrays have values; False for those that are forms alone
    asserts = False  # whether kernels check places as they compute, and are heard at the next wait
    held_as_bits: Container[np.dtype] = ()  # types that only this backend's own methods and kernels know
    # Runs an elementwise formula over lists of arrays as one kernel, see `cupy_kernels/formulas.py`.
    over_lists: ClassVar[Callable[..., None] | None] = None
    follow: ClassVar[Callable[..., Any] | None] = None  # runs a formula of arrays as one kernel
    # By the names of products: from operands to what `Op.ready` gives of them.
    ready: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init__(self, device_: device) -> None:
        self.device = device_
        self.Array = type(self).Array  # on the instance, where the fast paths find it at once
        self.real: Backend = self
        self.home: Backend = self  # of a lazy backend, that of the device; new tensors hold it
        self.twins: dict[Any, Backend] = {}  # lazy ones by their bits, sparse ones by their layout, and the handed one

    @functools.cached_property
    def guarded(self) -> Backend:
        """This backend as held by tensors of subclasses with a `__torch_function__` of their own.

        Being another object, it keeps them off the fast path.
        """
        twin = copy.copy(self)
        twin.real, twin.home = self, self.home
        return twin

    def moves(self, array: arrays.Array) -> bool:
        """Whether an array has a tangent beside it."""
        return False

    def kernel(self, op: Op) -> Callable[..., Any]:
        """The function from arrays to arrays that runs `op` here."""
        own = self.kernels.get(op.name)
        if own is not None:
            return own
        kernel = op.kernel
        if isinstance(kernel, str):
            found = getattr(self.xp, kernel, None)
            if found is None:
                raise missing_kernel(op.name, self.device)
            return found
        if kernel is None:
            raise missing_kernel(op.name, self.device)
        if op.on_backend:
            return functools.partial(kernel, self)
        return functools.partial(for_namespace(kernel, self.xp), self.xp)

    def fitted(self, kernel: Callable[..., Any], arguments: Sequence[Any]) -> Callable[..., Any]:
        """What a kernel comes to for arguments of the form of these."""
        return kernel

    def lacks(self, op: Op, values: Sequence[Any]) -> Exception | None:
        """The error for an op that there is nothing of here, which is told before what else is wrong with operands."""
        return None

    def takes_halves(self, op: Op) -> bool:
        """Whether this op's kernel takes halves as they are, where others are given them as float32."""
        return False

    # Making and moving

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self.xp.empty(shape, dtype)

    def random_stream(self, seed: int) -> Any:
        """The random numbers of a generator of this device: drawn on the host and then moved, if nothing is said."""
        return MT19937Stream(seed)

    def sum(self, array: arrays.Array, axis: Any, keepdims: bool) -> Any:
        """The sum along an axis, several or all (None)."""
        return add_reduce(self.xp, array, axis, keepdims)

    def full(self, shape: tuple[int, ...], value: Any, dtype: np.dtype) -> Any:
        return self.xp.full(shape, value, dtype)

    def check_room(self, shape: Sequence[int], dtype: np.dtype) -> None:
        """Refuse a size that memory has no room for, before it is looped over."""
        self.empty(tuple(shape), dtype)

    def asarray(self, value: Any, dtype: np.dtype | None = None) -> Any:
        """An array of a number, or of one of this backend's own scalars or arrays; no copy of an array."""
        return self.xp.asarray(value, dtype)

    def empty_strided(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> Any:
        reach = 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
        return self.lay(self.empty((reach,), dtype), shape, strides)

    def ordered(self, array: arrays.Array, strides: tuple[int, ...]) -> Any:
        """`array`, or a copy of it, with these strides; one that is not row-major shows it by having a base."""
        if not self.strided:
            return array
        if self.strides(array) == strides:
            return array if array.base is not None or strides == contiguous_strides(array.shape) else array[...]
        made = self.empty_strided(array.shape, strides, array.dtype)
        self.write(made, array)
        return made

    def from_host(self, array: np.ndarray) -> Any:
        """A fresh array with the values of a NumPy array."""
        return self.xp.array(array)

    def from_fresh(self, array: np.ndarray, shape: Sequence[int]) -> Any:
        """An array of this shape with the values, in order, of a NumPy array that nobody else holds."""
        return self.from_host(array.reshape(shape))

    def to_host(self, array: arrays.Array) -> np.ndarray:
        """The values as a NumPy array; the memory itself where it can be shared."""
        raise NotImplementedError

    def read(self, array: arrays.Array) -> Any:
        """A NumPy array to read values from, where `to_host` may refuse to give out memory."""
        return self.to_host(array)

    def bring(self, array: arrays.Array, source: Backend) -> Any:
        """A fresh array with the values of another backend's."""
        return self.from_host(source.to_host(array))

    def number(self, array: arrays.Array) -> np.ndarray:
        """An array of one element, on the host."""
        return self.to_host(array)

    def cast(self, array: arrays.Array, dtype: np.dtype) -> Any:
        """A copy in another dtype."""
        return cast_array(array, dtype)

    def copy(self, array: arrays.Array, order: str = "K") -> Any:
        return array.copy(order)

    def write(self, array: arrays.Array, value: Any) -> None:
        """Copy `value`, cast and broadcast, into the memory of `array`."""
        array[...] = value

    def fill(self, array: arrays.Array, number: float) -> None:
        """Write a number that the dtype of `array` has room for."""
        self.write(array, number)

    def synchronize(self) -> None:
        """Wait until what was started here is done."""

    # Layout

    def strides(self, array: arrays.Array) -> tuple[int, ...]:
        """Strides in elements; row-major ones for a fresh array without elements, where NumPy says nothing."""
        if not array.size and array.base is None:
            return contiguous_strides(array.shape)
        item = array.itemsize
        return tuple([s // item for s in array.strides])

    def definite(self, array: arrays.Array) -> Any:
        """A view of an array without elements whose strides are to be kept: NumPy gives a fresh one none."""
        return self.lay(array, array.shape, self.strides(array))

    def pointer(self, array: arrays.Array) -> int:
        """The address of the first element."""
        raise NotImplementedError

    def storage(self, array: arrays.Array) -> Any:
        """The whole allocation behind `array`, as a flat uint8 array."""
        raise NotImplementedError

    def offset(self, array: arrays.Array) -> int:
        """Elements between the start of the storage and the first element."""
        return (self.pointer(array) - self.pointer(self.storage(array))) // array.itemsize

    def as_strided(self, array: arrays.Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        """A view of the storage of `array` with its dtype; ValueError when it does not fit."""
        raise NotImplementedError

    def lay(self, array: arrays.Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Any:
        """A view of what lies within `array`; `offset` counts from its first element."""
        return self.as_strided(array, shape, strides, self.offset(array) + offset)

    def spread(self, number: Any, shape: tuple[int, ...]) -> Any:
        """An array of this shape that shows one number everywhere."""
        return self.lay(number, shape, (0,) * len(shape))


def cast_array(array: arrays.Array, to: np.dtype) -> Any:
    """Convert as C does; a complex number loses its imaginary part."""
    if to.kind == "W":
        tell_of_half_complex()
    if array.dtype.kind == "W" and to.kind != "W":  # complex32, of which ml_dtypes knows real parts and zeros otherwise
        array = array.astype("complex64")
    if array.dtype.kind == "c" and to.kind not in "cbW":
        if array.size:
            tell_of_lost_part()
        array = array.real
    return rounded(array, to)


def rounded(array: arrays.Array, to: np.dtype) -> Any:
    """The numbers as the nearest ones of another dtype."""
    fit = _INTO_EIGHT_BITS.get(to)
    return array.astype(to) if fit is None or array.__class__ is not np.ndarray else fit(array).astype(to)


# What PyTorch makes of numbers before they are rounded: those beyond the last are the last; where signs lack, they go.
_INTO_EIGHT_BITS: dict[np.dtype, Callable[[np.ndarray], np.ndarray]] = {
    dt.float8_e4m3fn.numpy: lambda array: array.astype(np.float32).clip(-448, 448),
    dt.float8_e8m0fnu.numpy: lambda array: np.abs(array.astype(np.float32)).clip(2.0**-127),
}


for _type, _module in (("cuda", "cupy"), ("meta", "meta")):
    register_on_demand(_type, f"{__package__}.{_module}")
