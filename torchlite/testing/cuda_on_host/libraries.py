"""Libraries that come as code for GPUs: what Thrust, cuSOLVER and cuFFT compute, NumPy computes here.

It is what torchlite and CuPy do around them that is tried, not these. `untried` are the functions that were called.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

untried: set[str] = set()

_SORTED = frozenset("?bBhHiIlLqQefdFD")  # what Thrust was compiled for
_SOLVED = (
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr",
    "slogdet", "solve", "svd", "tensorinv", "tensorsolve",
)  # fmt: skip
_TRANSFORMS = (
    "fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfft",
    "ihfft",
)  # fmt: skip
_driver: Any = None  # the driver's stand-in, which counts


def install(driver: Any) -> None:
    global _driver
    _driver = driver
    import cupy
    from cupy.cuda import thrust

    thrust.sort, thrust.argsort, thrust.lexsort = _sort, _argsort, _lexsort
    for module, theirs, names in ((cupy.linalg, np.linalg, _SOLVED), (cupy.fft, np.fft, _TRANSFORMS)):
        for name in names:
            if hasattr(module, name):
                setattr(module, name, _on_host(getattr(theirs, name)))


# ---- Thrust: functions of addresses


def _at(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Memory of the device as an array; a call of a library is counted, and cannot be captured."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not size:
        return np.empty(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype).reshape(shape)


def _called(name: str, dtype: Any, refusal: Exception) -> None:
    from cupy.cuda import runtime, stream

    if runtime.streamIsCapturing(stream.get_current_stream().ptr):
        raise NotImplementedError(f"CUDA on the host: {name} is not captured")
    if np.dtype(dtype).char not in _SORTED:
        raise refusal
    _driver.host_count_library_call()
    untried.add(name)


def _no_sorting(dtype: Any) -> Exception:
    return NotImplementedError(f"Sorting arrays with dtype '{dtype}' is not supported")


def _sort(dtype: Any, data: int, keys: int, shape: tuple[int, ...]) -> None:
    _called("thrust.sort", dtype, _no_sorting(dtype))
    array = _at(data, shape, dtype)
    array[...] = np.sort(array, -1)


def _argsort(dtype: Any, order: int, data: int, keys: int, shape: tuple[int, ...]) -> None:
    _called("thrust.argsort", dtype, _no_sorting(dtype))
    array = _at(data, shape, dtype)
    found = np.argsort(array, -1, kind="stable")
    array[...] = np.take_along_axis(array, found, -1)
    _at(order, shape, np.intp)[...] = found


def _lexsort(dtype: Any, order: int, keys: int, count: int, length: int) -> None:
    _called("thrust.lexsort", dtype, TypeError(f"Sorting keys with dtype '{dtype}' is not supported"))
    _at(order, (length,), np.intp)[...] = np.lexsort(_at(keys, (count, length), dtype))


# ---- cuSOLVER and cuFFT: functions of arrays


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        untried.add(function.__name__)
        return _up(function(*_down(args), **{name: _down(value) for name, value in kwargs.items()}))

    call.__name__ = function.__name__
    return call


def _down(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_down(item) for item in value])
    return value.get() if hasattr(value, "__cuda_array_interface__") else value


def _up(value: Any) -> Any:
    import cupy

    if isinstance(value, (np.ndarray, np.generic)):
        return cupy.asarray(value)
    if isinstance(value, tuple):
        made = [_up(item) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value
