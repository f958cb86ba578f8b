"""Tensors and the host's data: Python numbers and sequences, NumPy arrays, buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends.base import get_backend
from ...core.declare import Signature, aten, function, method
from ...core.machine import Tensor, TensorBase, computed, dispatch, functions, needs_dispatch, resolve, wrap
from ...core.machine.view import requires_grad as wants_grad
from ...core.memory import borrowed, lend
from ...core.native import quick
from ...core.state import local, look_past_forms
from ...core.values import CPU, Array, dt, get_default_device, tell_of_half_complex, type_name, warn
from .copy import clone, convert, in_order_of
from .factory import lifted, refuse_compressed, refuse_pinned
from .sequences import array_of

# ---- from Python


def host_data(data: Any, d: dt.dtype | None) -> tuple[np.ndarray, dt.dtype]:
    """A fresh NumPy array of `data`, and the dtype it stands for."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if d is dt.complex32:
        tell_of_half_complex()
    if not isinstance(data, np.ndarray):
        return array_of(data, d)
    own, plain, backend = _own_dtype(data), data.view(np.ndarray), get_backend(CPU)
    d = d or own
    return in_order_of(backend, local.state.quiet(backend.cast, plain, d.numpy), plain), d


_NEW = "ScalarType? dtype=None, Device? device=None, bool requires_grad=False"
_tensor = Signature(f"tensor(any data, *, {_NEW}, bool pin_memory=False)")


@function("tensor", _tensor)
@quick
def tensor(*args: Any, **kwargs: Any) -> Tensor:
    """A new leaf with a copy of the values of `data`."""
    if needs_dispatch(args, kwargs):
        return dispatch(tensor, args, kwargs)
    data, d, where, requires_grad, pinned = _tensor.bind(args, kwargs)
    pinned = pinned and get_backend(where or get_default_device()).values
    if pinned:
        refuse_pinned()
    if local.state.mode.seer is not None:
        return lifted(_made, data, d, where, False).requires_grad_(requires_grad)
    made = _made(data, d, where, requires_grad and not pinned)
    return made.pin_memory().requires_grad_(requires_grad) if pinned else made


def _borrowed(data: Any) -> Any:
    """A tensor over the memory of an object of a CUDA device, or of one that DLPack tells of; others as they are."""
    if isinstance(data, (TensorBase, np.ndarray)):
        return data
    if not hasattr(data, "__cuda_array_interface__"):
        return functions["from_dlpack"](data) if hasattr(data, "__dlpack__") else data
    backend: Any = get_backend("cuda")
    array = backend.borrow(data)
    return wrap(array, dt.of_numpy(array.dtype), backend)


def _made(data: Any, d: Any, where: Any, requires_grad: bool, called: str = "torch.tensor") -> Tensor:
    if isinstance(data, TensorBase):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            f"sourceTensor.detach().clone().requires_grad_(True), rather than {called}(sourceTensor).",
        )
        result = clone.apply(convert(data.detach(), d, where), None)
    elif (lent := _borrowed(data)) is not data:
        result = clone.apply(convert(lent, d, where), None)
    else:
        array, d = host_data(data, d)
        backend = get_backend(where or get_default_device())
        result = wrap(array if backend.Array is np.ndarray else backend.from_host(array), d, backend)
    if requires_grad:
        if result.dtype.category < dt.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result._require_grad(True)
    return result


_new_tensor = Signature(f"new_tensor(Tensor self, any data, *, {_NEW})")


@method("new_tensor")
def new_tensor(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A new leaf with a copy of `data`, of this tensor's dtype on its device."""
    refuse_compressed(self)
    _, data, d, where, requires_grad = _new_tensor.bind((self, *args), kwargs)
    return lifted(_made, data, d or self.dtype, where or self.device, requires_grad, "tensor.new_tensor")


_as_tensor = Signature("as_tensor(any data, *, ScalarType? dtype=None, Device? device=None)")


@function("as_tensor", _as_tensor)
def as_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """`data` as a tensor, sharing its memory where that is possible."""
    if needs_dispatch(args, kwargs):
        return dispatch(as_tensor, args, kwargs)
    return lifted(_shared, *_as_tensor.bind(args, kwargs))


def _shared(data: Any, d: Any, where: Any) -> Tensor:
    if isinstance(data, TensorBase):
        return convert(data, d, where)
    if (lent := _borrowed(data)) is not data:
        return convert(lent, d, where)
    if isinstance(data, np.ndarray) and not any(s < 0 for s in data.strides):
        return convert(from_numpy(data), d, where or get_default_device())
    return _made(data, d, where, False)


_asarray = Signature(
    "asarray(any obj, *, ScalarType? dtype=None, Device? device=None, bool? copy=None, bool? requires_grad=None)"
)


@function("asarray", _asarray)
def asarray(*args: Any, **kwargs: Any) -> Tensor:
    """`obj` as a tensor; `copy` says whether its memory must or must not be shared."""
    obj, d, where, copy, requires_grad = _asarray.bind(args, kwargs)
    if isinstance(obj, np.generic):
        obj = np.asarray(obj)
    elif not isinstance(obj, (TensorBase, np.ndarray)):
        if hasattr(obj, "__dlpack__"):
            obj = functions["from_dlpack"](obj)
        elif hasattr(obj, "__buffer__") or _has_buffer(obj):
            obj = np.frombuffer(obj, dtype=(d or dt.get_default_dtype()).numpy)
    if requires_grad is None:
        requires_grad = isinstance(obj, TensorBase) and obj.requires_grad
        if requires_grad:
            warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning."
            )
    shares = isinstance(obj, (TensorBase, np.ndarray))
    if copy is False and not shares:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    result = _shared(obj, d, where)
    if shares and copy and result.data_ptr() == _address(obj):
        result = clone.apply(result, None)
    if copy is False:
        at = obj.device if isinstance(obj, TensorBase) else CPU
        if result.device != at:
            raise ValueError(f"can't alias tensor from device '{at}' to '{result.device}'.")
        had = dt.of_numpy(obj.dtype) if isinstance(obj, np.ndarray) else obj.dtype
        if result.dtype is not had:
            raise ValueError(f"can't alias tensor with dtype '{had.legacy}' into dtype '{result.dtype.legacy}'.")
    if isinstance(obj, TensorBase):
        if not requires_grad:
            return result.detach() if result.requires_grad else result
        return result if result.requires_grad else (result.detach() if result is obj else result)._require_grad(True)
    return result._require_grad(True) if requires_grad else result


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _address(obj: Any) -> int:
    return obj.data_ptr() if isinstance(obj, TensorBase) else obj.__array_interface__["data"][0]


# ---- from memory

_warned: set[str] = set()


def _warn_read_only(what: str, verb: str) -> None:
    if what not in _warned:
        _warned.add(what)
        warn(
            f"The given {what} is not writable, and PyTorch does not support non-writable tensors. This means {verb} "
            f"You may want to copy the {'array' if what == 'NumPy array' else 'buffer'} to protect its data or make it "
            "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program.",
        )


@function("from_numpy")
@quick
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    d = _own_dtype(ndarray)
    if not ndarray.flags.writeable:
        _warn_read_only("NumPy array", "writing to this tensor will result in undefined behavior.")
    made = wrap(borrowed(ndarray), d, get_backend(CPU))
    told = local.state.mode.seer
    return made if told is None else told.lifted(made)


def _own_dtype(ndarray: np.ndarray) -> dt.dtype:
    """The dtype of a tensor over an array; an error if there can be no such tensor."""
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    d = dt.of_numpy(ndarray.dtype)
    if ndarray.dtype != d.numpy or not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    return d


_frombuffer = Signature(
    "frombuffer(any buffer, *, ScalarType dtype, int count=-1, int offset=0, bool requires_grad=False)"
)


@function("frombuffer", _frombuffer)
def frombuffer(*args: Any, **kwargs: Any) -> Tensor:
    """A 1-dim tensor over the memory of a buffer."""
    buffer, d, count, offset, requires_grad = _frombuffer.bind(args, kwargs)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size, item = view.nbytes, d.itemsize
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({item})"
        )
    if count > 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({size} bytes)"
        )
    if view.readonly:
        _warn_read_only("buffer", "you can write to the underlying (supposedly non-writable) buffer using the tensor.")
    array = np.frombuffer(view, dtype=d.numpy, count=count, offset=offset)
    result = wrap(array, d, get_backend(CPU))
    return result._require_grad(True) if requires_grad else result


# ---- to the host


@method("item")
@quick
def item(self: Tensor) -> Any:
    """The value of a tensor of one element, as a Python number."""
    array, backend = self._array, self._backend
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    if not backend.values and self.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    told = backend.real if backend.handed else local.state.mode.seer
    if told is not None:
        return told.number_of(self)
    value = backend.real.number(array).item()
    return float(value) if self.dtype.is_floating_point else value


aten.update(
    _local_scalar_dense=item, lift_fresh=lambda self: self, lift_fresh_copy=lambda self: clone.apply(self, None),
    _pin_memory=lambda self, device=None: self.pin_memory(),
)


@method("tolist")
@quick
def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers."""
    if self.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    look_past_forms()
    if self._backend.lazy:
        if local.state.mode.grad:
            resolve(self)  # the step that resolves bits asks for the history, which may be refused
        self = computed(self)
    host = self._backend.real.read(self._array)
    return (host.astype(np.float32) if host.dtype.kind == "V" else host).tolist()


@method("numpy")
@quick
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The values as a NumPy array over the same memory; with `force`, detached and copied to the host if need be."""
    if needs_dispatch((self,), {}):
        return dispatch(numpy, (self,), {"force": True} if force else {})
    if self._edge is not None and wants_grad(self) and local.state.mode.grad:
        if not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        self = self.detach()
    if force:
        self = self.resolve_conj().resolve_neg()
    if not self.is_cpu:
        if not force or self.is_meta:
            raise TypeError(
                f"can't convert {self.device if self.device.index is not None else self.device.type + ' device type'} "
                "tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
            )
        return self.cpu().numpy()
    if self._backend.bits:
        bit, short = ("conjugate", "conj") if self.is_conj() else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{short}().numpy() instead."
        )
    if self._array.dtype.isbuiltin != 1:
        raise TypeError(f"Got unsupported ScalarType {self.dtype.legacy}")
    return lend(self._backend.real.to_host(self._array)).view()


@method("__array__")
def __array__(self: Tensor, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
    if needs_dispatch((self,), {}):
        return dispatch(__array__, (self,), {"dtype": dtype})
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method("__array_wrap__")
def __array_wrap__(self: Tensor, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
    """What a NumPy function called on a tensor gives back: a tensor."""
    if needs_dispatch((self,), {}):
        return dispatch(__array_wrap__, (self,), {"array": array})
    if array.dtype == bool:
        array = array.astype("uint8")
    return from_numpy(np.asarray(array))
