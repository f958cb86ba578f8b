"""Questions about tensors, dtypes and the library: `is_tensor`, `result_type`, `get_default_dtype` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.declare import dtype_of, taking
from .core.machine import Tensor, TensorBase, overridable
from .core.machine.operands import result_type as _result_type
from .core.native import quick
from .core.values import dt, set_default_device, too_long, type_name, warn
from .core.values.errors import broadcast_shapes as _broadcast
from .core.values.size import size
from .operations.making.legacy_types import TYPES, tensortype


@quick
def is_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)


def _checked_tensor(name: str, value: Any) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(value)}")


def _checked_dtypes(name: str, **dtypes: Any) -> list[Any]:
    for at, (parameter, value) in enumerate(dtypes.items(), 1):
        if dtype_of(value) is None:
            raise TypeError(
                f"{name}(): argument '{parameter}' (position {at}) must be torch.dtype, not {type_name(value)}"
            )
    return [dtype_of(value) for value in dtypes.values()]


@overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's dtype is a floating-point one."""
    _checked_tensor("is_floating_point", input)
    return input.is_floating_point()


@overridable
def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex."""
    _checked_tensor("is_complex", input)
    return input.is_complex()


@overridable
def is_signed(input: Tensor) -> bool:
    """Whether a tensor's dtype has negative numbers."""
    return input.is_signed()


@overridable
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


@overridable
def get_device(input: Tensor) -> int:
    """The index of a tensor's device; -1 for the CPU."""
    return input.get_device()


@overridable
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if not input.numel()
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    return bool(input.item())


def typename(obj: Any, /) -> str:
    """The name of an object's type; of a tensor, its legacy tensor type."""
    if isinstance(obj, TensorBase):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__
    return f"{module}.{name}" if module not in ("", "builtins", "__builtin__") else name


def result_type(tensor1: Any, tensor2: Any) -> dt.dtype:
    """The dtype of the result of arithmetic on two tensors or numbers."""
    for value in (tensor1, tensor2):
        if value.__class__ is int and not -(1 << 63) <= value < 1 << 64:
            raise too_long(value)
    if not all(isinstance(value, (TensorBase, int, float, complex, np.generic)) for value in (tensor1, tensor2)):
        raise TypeError(
            f"result_type() received an invalid combination of arguments - got ({type_name(tensor1)}, "
            f"{type_name(tensor2)}), but expected one of:\n * (Tensor tensor, Tensor other)\n"
            " * (Number scalar, Tensor tensor)\n * (Tensor tensor, Number other)\n * (Number scalar1, Number scalar2)"
        )
    return _result_type(tensor1, tensor2)


def promote_types(type1: dt.dtype, type2: dt.dtype) -> dt.dtype:
    """The smallest dtype to which both convert without loss of category."""
    return dt.promote_types(*_checked_dtypes("promote_types", type1=type1, type2=type2))


def can_cast(from_: dt.dtype, to: dt.dtype) -> bool:
    """Whether promotion would ever convert `from_` to `to`."""
    return dt.can_cast(*_checked_dtypes("can_cast", from_=from_, to=to))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    return size(_broadcast(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def compiled_with_cxx11_abi() -> bool:
    """Whether extensions in C++ use the newer ABI, as PyTorch's do."""
    return True


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype and device by a legacy tensor type, or its name."""
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if t not in TYPES:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        t = TYPES[t]
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
    )
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    t.check_available()
    dt.set_default_dtype(t.dtype)
    set_default_device(t.kind if t.is_cuda else None)


@taking("is_distributed(Tensor input)")
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor is spread over processes: none is."""
    return False


def is_vulkan_available() -> bool:
    """Whether there are Vulkan devices: none are used."""
    return False


@overridable
def _assert(condition: Any, message: str) -> None:
    """`assert` as a function, which PyTorch's tracers could see."""
    assert condition, message


__all__ = [
    "_assert", "broadcast_shapes", "can_cast", "compiled_with_cxx11_abi", "get_device", "is_complex", "is_distributed",
    "is_floating_point", "is_inference", "is_nonzero", "is_signed", "is_tensor", "is_vulkan_available", "promote_types",
    "result_type", "set_default_tensor_type", "typename",
]  # fmt: skip
