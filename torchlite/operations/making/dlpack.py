"""Tensors handed to other libraries, and taken from them: DLPack."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from ...backends.base import get_backend
from ...core.declare import function, method
from ...core.machine import Tensor, TensorBase, overridable, wrap
from ...core.values import DeviceLike, dt, strided, type_name
from ...core.values.device import device as Device
from .host_data import from_numpy


class DLDeviceType(enum.IntEnum):
    """The devices that DLPack knows."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


# What DLPack has numbers for and NumPy does not: these travel as unsigned integers of their size, renumbered.
_CODES = {
    dt.bfloat16: 4, dt.complex32: 5, dt.float8_e4m3fn: 10, dt.float8_e4m3fnuz: 11, dt.float8_e5m2: 12,
    dt.float8_e5m2fnuz: 13, dt.float8_e8m0fnu: 14,
}  # fmt: skip
_BY_CODE = {code: d for d, code in _CODES.items()}
_UNSIGNED = 1
_CODE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}  # where a capsule's memory has the number of the type

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _code(capsule: Any) -> ctypes.c_uint8:
    """The number of the type in a capsule that nobody has taken anything from yet."""
    name = _name(capsule) if type(capsule).__name__ == "PyCapsule" else None
    if name not in _CODE_AT:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
            "might have already constructed a tensor from it once."
        )
    return ctypes.c_uint8.from_address(_pointer(capsule, name) + _CODE_AT[name])


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """The memory of a tensor of a CUDA device, as Numba and others ask for it."""
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    item = self.element_size()
    return {
        "typestr": f"<{self._array.dtype.kind}{item}" if item > 1 else f"|{self._array.dtype.kind}{item}",
        "shape": tuple(self.shape),
        "strides": None if self.is_contiguous() else tuple([s * item for s in self.stride()]),
        "data": (self.data_ptr() if self.numel() else 0, False),
        "version": 2,
    }


Tensor.__cuda_array_interface__ = property(_cuda_array_interface)  # type: ignore[assignment, method-assign]


@method("__dlpack_device__")
def __dlpack_device__(self: Tensor) -> tuple[Any, int]:
    found = {"cpu": DLDeviceType.kDLCPU, "cuda": DLDeviceType.kDLCUDA}.get(self.device.type)
    if found is None:
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return found, self.device.index or 0


@method("__dlpack__")
def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """A capsule that hands this tensor's memory to another library."""
    if self.layout is not strided:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if self.is_cpu and stream is not None:
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None:
        kind, index = dl_device
        self = self.to("cpu" if kind == DLDeviceType.kDLCPU else f"cuda:{index}")
    return _exported(self, stream, max_version, copy)


def _exported(t: Tensor, stream: Any = None, max_version: Any = None, copy: Any = None) -> Any:
    if t.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    array = t._backend.real.copy(t._array) if copy else t._array
    if not isinstance(array, np.ndarray):
        return array.__dlpack__(stream=stream)
    code = _CODES.get(t.dtype)
    if code is not None:
        array = array.view(f"u{t.dtype.itemsize}")
    capsule = array.__dlpack__() if max_version is None else array.__dlpack__(max_version=max_version)
    if code is not None:
        _code(capsule).value = code
    return capsule


@function("to_dlpack")
@overridable
def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that hands a tensor's memory to another library."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {type_name(tensor)}")
    return _exported(tensor)


@function("from_dlpack")
def from_dlpack(ext_tensor: Any, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's tensor."""
    if device is not None and not isinstance(device, (str, Device)):
        raise AssertionError(f"from_dlpack: unsupported device type: {type(device)}")
    if device is not None and Device(device).type == "meta":
        raise BufferError("Cannot pack tensors on meta")
    if not hasattr(ext_tensor, "__dlpack__"):
        t = _imported(ext_tensor)
    elif int(ext_tensor.__dlpack_device__()[0]) == DLDeviceType.kDLCUDA:
        backend = get_backend("cuda")
        array = backend.xp.from_dlpack(ext_tensor)
        t = wrap(array, dt.of_numpy(array.dtype), backend)
    elif isinstance(ext_tensor, np.ndarray):
        t = _from_host(ext_tensor.view(np.ndarray))
    else:
        t = _imported(ext_tensor.__dlpack__())
    t = t if device is None else t.to(device)
    return t.clone() if copy else t


def _imported(capsule: Any) -> Tensor:
    """A tensor over what a capsule hands out, which is on the host."""
    code = _code(capsule)
    d = _BY_CODE.get(code.value)
    if d is None:
        return _from_host(np.from_dlpack(_Capsule(capsule)))
    code.value = _UNSIGNED
    array = _from_host(np.from_dlpack(_Capsule(capsule)))._array
    return wrap(array.view(d.numpy), d, get_backend("cpu"))


class _Capsule:
    """A bare capsule, as an object that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _from_host(array: np.ndarray) -> Tensor:
    if array.flags.writeable:
        return from_numpy(array)
    # NumPy marks what comes through the protocol's first version read-only; PyTorch's tensors can be written to.
    interface = array.__array_interface__
    writable = np.asarray(_Memory({**interface, "data": (interface["data"][0], False)}, array))
    return from_numpy(writable)


class _Memory:
    """Memory that some array owns, with an interface of its own."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner
