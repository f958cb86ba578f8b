"""Questions about tensors, dtypes and the library: `is_tensor`, `result_type`, `get_default_dtype` and the like."""

from __future__ import annotations

import warnings
from typing import Any

from .core import dtype as dt
from .core.errors import broadcast_shapes as _broadcast
from .core.operands import result_type as _result_type
from .core.overrides import overridable
from .core.size import size
from .core.tensor import Tensor, TensorBase


def is_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)


@overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether a tensor's dtype is a floating-point one."""
    return input.is_floating_point()


@overridable
def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex."""
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
    return _result_type(tensor1, tensor2)


def promote_types(type1: dt.dtype, type2: dt.dtype) -> dt.dtype:
    """The smallest dtype to which both convert without loss of category."""
    return dt.promote_types(type1, type2)


def can_cast(from_: dt.dtype, to: dt.dtype) -> bool:
    """Whether promotion would ever convert `from_` to `to`."""
    return dt.can_cast(from_, to)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes broadcast to."""
    return size(_broadcast(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy tensor type's name."""
    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    legacy = name.removeprefix("torch.").removeprefix("cuda.").removesuffix("Tensor")
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    dt.set_default_dtype(next(d for d in dt.DTYPES if d.legacy == legacy))


def is_distributed(input: Tensor) -> bool:
    """Whether a tensor is spread over processes: none is."""
    return False


def is_vulkan_available() -> bool:
    """Whether there are Vulkan devices: none are used."""
    return False


def _assert(condition: Any, message: str) -> None:
    """`assert` as a function, which PyTorch's tracers could see."""
    assert condition, message


__all__ = [
    "_assert", "broadcast_shapes", "can_cast", "get_device", "is_complex", "is_distributed",
    "is_floating_point", "is_inference", "is_nonzero", "is_signed", "is_tensor", "is_vulkan_available", "promote_types",
    "result_type", "set_default_tensor_type", "typename",
]  # fmt: skip
