"""Making tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.base import get_backend
from ..core import dtype as dt
from ..core.device import get_default_device
from ..core.publish import function, method
from ..core.tensor import Tensor, wrap


@function("arange")
def arange(*args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Numbers from start to end by step."""
    backend = get_backend(device or get_default_device())
    d = dtype or (dt.int64 if all(isinstance(a, int) for a in args) else dt.get_default_dtype())
    return wrap(backend.xp.arange(*args, dtype=d.numpy), d, backend).requires_grad_(requires_grad)


@function("tensor")
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of the values of `data`."""
    backend = get_backend(device or get_default_device())
    host = np.array(data)
    d = dtype or (dt.get_default_dtype() if host.dtype.kind == "f" else dt.of_numpy(host.dtype))
    return wrap(backend.from_host(host.astype(d.numpy)), d, backend).requires_grad_(requires_grad)


def _full(shape: Any, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    backend = get_backend(device or get_default_device())
    return wrap(backend.full(tuple(shape), value, dtype.numpy), dtype, backend).requires_grad_(requires_grad)


@function("ones")
def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones."""
    return _full(_shape(size), 1, dtype or dt.get_default_dtype(), device, requires_grad)


@function("zeros")
def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros."""
    return _full(_shape(size), 0, dtype or dt.get_default_dtype(), device, requires_grad)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


@method("new_zeros")
def new_zeros(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this tensor's dtype on its device."""
    return _full(_shape(size), 0, dtype or self.dtype, device or self.device, requires_grad)


@method("new_ones")
def new_ones(self: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of this tensor's dtype on its device."""
    return _full(_shape(size), 1, dtype or self.dtype, device or self.device, requires_grad)


@method("new_empty_strided")
def new_empty_strided(self: Tensor, size: Any, stride: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Uninitialised memory with these strides, of this tensor's dtype on its device."""
    d = dtype or self.dtype
    backend = get_backend(device or self.device)
    reach = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return wrap(backend.as_strided(backend.empty((reach,), d.numpy), tuple(size), tuple(stride), 0), d, backend)
