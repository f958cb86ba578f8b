"""The device `strict`: host memory behind an interface as narrow as CuPy's, to test code for GPUs without one.

Its arrays hold NumPy's, but like CuPy's they are never converted to these on the quiet, refuse operands from elsewhere,
have no functions, methods, parameters or loops that CuPy lacks, give arrays where NumPy gives scalars, and wrap integer
indices that are out of range. Where CuPy computes otherwise (integers to negative powers, numbers that a type has no
room for, bfloat16 beside Python's numbers, powers of complex numbers) so does it; but for functions that the CUDA
backend has of its own (`cupy_kernels/functions.py`), which are NumPy's here, and for what complex functions give at
infinities and NaNs, which differs more than that. Importing this module registers the device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from ..backends.base import Backend, get_backend, register_backend
from ..backends.numpy import root
from ..core.values import Array
from ..kernels.array_classes import Flags, give_operators
from .surface import Parameters, listed

_SURFACE = listed()
_WEAK = (bool, int, float, complex)
_NOT_IN_BFLOAT16 = frozenset((
    "sort", "argsort", "lexsort", "partition", "argpartition", "unique", "median", "percentile", "cumsum", "cumprod",
    "nan_to_num",
))  # fmt: skip
_FROM_BFLOAT16 = {"where": np.float32, "round": np.float32, "var": np.float64, "std": np.float64}  # results there
_STABLE = frozenset(("sort", "argsort"))
_ARRAYS_FROM_ANYTHING = frozenset(("array", "asarray", "asanyarray", "ascontiguousarray"))
_ANSWERS = frozenset(("allclose", "array_equal", "array_equiv"))  # NumPy gives a bool for these


class StrictArray:
    """An array of the device `strict`. `get()` copies it to the host."""

    __slots__ = ("__weakref__", "base", "host")

    host: np.ndarray
    base: StrictArray | None  # the array whose memory this one shows

    def __init__(self, host: np.ndarray, base: StrictArray | None = None) -> None:
        self.host = host
        self.base = base

    # ---- what it is

    shape: Any = property(lambda self: self.host.shape)
    dtype: Any = property(lambda self: self.host.dtype)
    ndim: Any = property(lambda self: self.host.ndim)
    size: Any = property(lambda self: self.host.size)
    itemsize: Any = property(lambda self: self.host.itemsize)
    nbytes: Any = property(lambda self: self.host.nbytes)
    strides: Any = property(lambda self: self.host.strides)
    real: Any = property(
        lambda self: wrapped(self.host.real, self), lambda self, value: setattr(self.host, "real", unwrapped(value))
    )
    imag: Any = property(
        lambda self: wrapped(self.host.imag, self), lambda self, value: setattr(self.host, "imag", unwrapped(value))
    )
    T: Any = property(lambda self: wrapped(self.host.T, self))
    mT: Any = property(lambda self: wrapped(self.host.mT, self))

    @property
    def flags(self) -> Flags:
        flags = self.host.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self.base is None)

    def __len__(self) -> int:
        return len(self.host)

    def __repr__(self) -> str:
        return f"strict {self.host!r}"

    # ---- parts

    def __getitem__(self, index: Any) -> StrictArray:
        return wrapped(self.host[_around(unwrapped(index), self.shape)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host[_around(unwrapped(index), self.shape)] = unwrapped(value)

    def __iter__(self) -> Iterator[StrictArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    # ---- to the host, only where asked for

    def get(self) -> np.ndarray:
        """A copy in a NumPy array."""
        return self.host.copy("K")

    def __bool__(self) -> bool:
        return bool(self.host)

    def __int__(self) -> int:
        return int(self.host.item())

    def __float__(self) -> float:
        return float(self.host.item())

    def __complex__(self) -> complex:
        return complex(self.host.item())

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("an array of the device 'strict' is not converted to a NumPy array unless by get()")

    def __array_function__(self, function: Callable[..., Any], *args: Any) -> Any:
        raise TypeError(f"NumPy's {function.__name__}() does not take arrays of the device 'strict'")


# ---- between the device and the host


def unwrapped(value: Any) -> Any:
    """The host's array for one of this device, also in tuples and lists. NumPy's own arrays are refused."""
    kind = value.__class__
    if kind is StrictArray:
        return value.host
    if kind is tuple or kind is list:
        return kind([unwrapped(item) for item in value])
    if isinstance(value, np.ndarray):
        raise TypeError("an array of the device 'strict' does not go together with a NumPy array")
    return value


def wrapped(value: Any, *sources: Any) -> Any:
    """Arrays of this device for NumPy's arrays and scalars; `sources` may be what they are views of."""
    if isinstance(value, (tuple, list)):
        made = [wrapped(item, *sources) for item in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, np.generic):
        return StrictArray(np.asarray(value))
    if not isinstance(value, np.ndarray):
        return value
    owner = root(value)
    for source in sources:
        if source.__class__ is StrictArray:
            if source.host is value:
                return source
            if root(source.host) is owner:
                return StrictArray(value, source if source.base is None else source.base)
    return StrictArray(value)


def _around(index: Any, shape: tuple[int, ...]) -> Any:
    """An index whose integer arrays are brought into range, as CuPy reads them."""
    items = index if index.__class__ is tuple else (index,)
    arrays = [np.asarray(item) if item.__class__ is list else item for item in items]
    if not any(isinstance(item, np.ndarray) for item in arrays):
        return index
    skipped = len(shape) - sum(_dims(item) for item in arrays)
    dim = 0
    for at, item in enumerate(arrays):
        if isinstance(item, np.ndarray) and item.dtype != bool and dim < len(shape):
            arrays[at] = item % max(shape[dim], 1)
        dim += skipped if item is Ellipsis else _dims(item)
    return tuple(arrays)


def _dims(item: Any) -> int:
    """How many dimensions an item of an index stands for."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


# ---- functions


class Function:
    """NumPy's function or method of a name that CuPy has too, with the parameters it has there."""

    def __init__(self, name: str, parameters: Parameters, function: Callable[..., Any]) -> None:
        self.name = name
        self.parameters = parameters
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(self.function, args, kwargs)

    def method(self) -> Callable[..., Any]:
        def call(array: StrictArray, *args: Any, **kwargs: Any) -> Any:
            return self.call(functools.partial(self.function, array.host), args, kwargs, (array,))

        call.__name__ = self.name
        return call

    def call(self, function: Any, args: Any, kwargs: Any, sources: tuple[StrictArray, ...] = ()) -> Any:
        self.parameters.check(self.name, args, kwargs)
        operands = (*sources, *args)
        sources = (*operands, *kwargs.values())
        if self.name in _NOT_IN_BFLOAT16 and any(getattr(s, "dtype", None) == ml_dtypes.bfloat16 for s in sources):
            raise TypeError(f"CuPy's {self.name}() does not take bfloat16")
        if self.name in _STABLE and kwargs.setdefault("kind", "stable") not in (None, "stable"):
            raise ValueError(f"CuPy's {self.name}() has no kind '{kwargs['kind']}'")
        if self.name in ("take", "put") and operands[1].__class__ is StrictArray:
            kwargs["mode"] = "wrap"
        if self.name not in _ARRAYS_FROM_ANYTHING:
            args, kwargs = unwrapped(args), {name: unwrapped(value) for name, value in kwargs.items()}
        elif args[0].__class__ is not np.ndarray:
            args = (unwrapped(args[0]), *args[1:])
        if self.name == "clip" and operands[0].dtype.kind == "c":
            raise TypeError("CuPy's clip() does not take complex numbers")
        result = function(*args, **kwargs)
        if self.name in _FROM_BFLOAT16 and any(getattr(s, "dtype", None) == ml_dtypes.bfloat16 for s in sources):
            result = result.astype(kwargs.get("dtype") or _FROM_BFLOAT16[self.name])
        return wrapped(np.asarray(result) if self.name in _ANSWERS else result, *sources)


def _take_along_axis(array: Array, indices: Any, axis: int | None) -> np.ndarray:
    """CuPy's: indices out of range are wrapped."""
    return np.take_along_axis(array, indices % max(array.size if axis is None else array.shape[axis], 1), axis)


_OWN = {"take_along_axis": _take_along_axis}


# ---- ufuncs

_TYPES = {"E": np.dtype(ml_dtypes.bfloat16)}


def _type(char: str) -> np.dtype:
    return _TYPES.get(char) or np.dtype(char)


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """CuPy's, of integers: what is below one is cut off."""
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b % 2), 0))
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(a.dtype)


def _reciprocal(a: np.ndarray) -> np.ndarray:
    return np.where(a == 0, 0, np.reciprocal(np.where(a == 0, 1, a)))


def _shift(name: str) -> Callable[..., np.ndarray]:
    """What a shift by more bits than there are gives is anybody's guess on a GPU, so none may be asked for."""
    function = getattr(np, name)

    def shift(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if np.any((b < 0) | (b >= 8 * a.itemsize)):
            raise ValueError(f"CuPy's {name}() knows no shifts by less than 0 bits, or by as many as a number has")
        return function(a, b)

    return shift


_OF_INTEGERS = {
    "power": _power, "reciprocal": _reciprocal, "lcm": lambda a, b: np.abs(np.lcm(a, b)),
    "left_shift": _shift("left_shift"), "right_shift": _shift("right_shift"),
}  # fmt: skip


def _complex_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Thrust's, by a logarithm, which loses what is infinite."""
    return np.where(b == 0, 1, np.where(a == 0, np.power(a, b), np.exp(b * np.log(a)))).astype(a.dtype)


_OF_COMPLEX = {"power": _complex_power}


class Ufunc:
    """A ufunc with the loops that CuPy has."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.function = getattr(np, name)
        self.loops = [([_type(c) for c in ins], [_type(c) for c in outs]) for ins, outs in _SURFACE.ufuncs[name]]
        self.nin, self.nout = (len(part) for part in self.loops[0])

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: Any = "same_kind") -> Any:
        if len(args) > self.nin:
            out = args[self.nin] if self.nout == 1 else args[self.nin :]
        operands = args[: self.nin]
        for operand in operands:
            if operand.__class__ is not StrictArray and not isinstance(operand, (*_WEAK, np.generic)):
                raise TypeError(f"CuPy's {self.name}() does not take {type(operand)}")
        hosts = unwrapped(operands)
        if dtype is None:
            ins, outs = self.loop(hosts)
        else:
            ins, outs = [np.dtype(dtype)] * self.nin, [np.dtype(dtype)] * self.nout
        own = _OF_INTEGERS if ins[0].kind in "iu" else _OF_COMPLEX if ins[0].kind == "c" else {}
        function = own.get(self.name, self.function)
        results = function(*[np.asarray(h).astype(t, copy=False) for h, t in zip(hosts, ins)])
        results = results if self.nout > 1 else (results,)
        if out is not None:
            targets = out if isinstance(out, tuple) else (out,)
            for target, result in zip(targets, results):
                np.copyto(unwrapped(target), result, casting=casting)
            return out
        made = [wrapped(np.asarray(r).astype(t, copy=False)) for r, t in zip(results, outs)]
        return made[0] if self.nout == 1 else tuple(made)

    def loop(self, hosts: tuple[Any, ...]) -> tuple[list[np.dtype], list[np.dtype]]:
        """The first loop to which all operands can be cast safely."""
        strong = [h.dtype for h in hosts if not isinstance(h, _WEAK)]
        given = [self._type_of(h, strong) if isinstance(h, _WEAK) else h.dtype for h in hosts]
        for loop in self.loops:
            if all(np.can_cast(have, wanted) for have, wanted in zip(given, loop[0])):
                for host, have in zip(hosts, given):
                    of_integers = have.kind in "iu" and loop[0][0].kind in "iu" and loop[1][0].kind != "b"
                    if host.__class__ is int and of_integers:
                        np.array(host, have)  # which says what it has no room for
                return loop
        raise TypeError(f"CuPy's {self.name}() has no loop for {', '.join(map(str, given))}")

    @staticmethod
    def _type_of(number: Any, strong: list[np.dtype]) -> np.dtype:
        """What one of Python's numbers is taken for beside arrays."""
        found = np.result_type(*strong, number)
        beside_bfloat16 = number.__class__ is float and strong and {*strong} == {np.dtype(ml_dtypes.bfloat16)}
        return np.dtype(np.float32) if beside_bfloat16 else found

    def reduce(self, array: Array, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._method(array, add="sum", multiply="prod")(axis, dtype, out, keepdims)

    def accumulate(self, array: Array, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return self._method(array, add="cumsum", multiply="cumprod")(axis, dtype, out)

    def _method(self, array: Array, **names: str) -> Any:
        if self.name not in names:
            raise NotImplementedError(f"CuPy's {self.name} neither reduces nor accumulates")
        return getattr(array, names[self.name])

    def outer(self, a: StrictArray, b: StrictArray, **kwargs: Any) -> Any:
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)  # type: ignore[attr-defined]

    def at(self, array: StrictArray, indices: Any, values: Any) -> None:
        if self.name not in _SURFACE.scatters or array.dtype.char not in _ATOMIC.get(self.name, "ilqILQfd"):
            raise TypeError(f"CuPy's {self.name}.at() does not take {array.dtype}")
        self.function.at(array.host, _around(unwrapped(indices), array.shape), unwrapped(values))


# The types of whose elements `at` writes without a race.
_ATOMIC = {"add": "ilqILQefd", "subtract": "iILQ", "bitwise_or": "iILQ"}


class Namespace:
    """The functions that both CuPy and NumPy have."""

    def __init__(self, module: Any, prefix: str = "") -> None:
        self._module = module
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self._make(name)
        setattr(self, name, made)
        return made

    def _make(self, name: str) -> Any:
        path = self._prefix + name
        if path in ("linalg", "fft"):
            return Namespace(getattr(np, name), f"{name}.")
        if path == "ndarray":
            return StrictArray
        known = path in _SURFACE.functions or path in _SURFACE.ufuncs or path in _SURFACE.values
        if not known or not hasattr(self._module, name):
            where = "NumPy" if known else "CuPy"
            raise AttributeError(f"the device 'strict' has no {path}, for want of one in {where}")
        if path in _SURFACE.ufuncs:
            return Ufunc(name)
        found = _OWN.get(path) or getattr(self._module, name)
        return Function(name, _SURFACE.functions[path], found) if path in _SURFACE.functions else found


xp = Namespace(np)

for _name, _parameters in _SURFACE.methods.items():
    if hasattr(np.ndarray, _name) and _name not in StrictArray.__dict__:
        setattr(StrictArray, _name, Function(_name, _parameters, getattr(np.ndarray, _name)).method())


give_operators(StrictArray, xp)


# ---- the device


class StrictBackend(Backend):
    """The arrays of the device `strict`."""

    xp = xp
    Array = StrictArray

    def from_host(self, array: np.ndarray) -> StrictArray:
        return StrictArray(array.copy("K"))

    def to_host(self, array: StrictArray) -> np.ndarray:
        return array.get()

    def pointer(self, array: StrictArray) -> int:
        return _CPU.pointer(array.host)

    def storage(self, array: StrictArray) -> StrictArray:
        return wrapped(_CPU.storage(array.host), array)

    def as_strided(
        self, array: StrictArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> StrictArray:
        return wrapped(_CPU.as_strided(array.host, shape, strides, offset), array)


_CPU = get_backend()
register_backend("strict", StrictBackend)
