"""`torch._C`: of PyTorch's compiled core, the few names that pickles hold and that other packages touch."""

from __future__ import annotations

import enum
from typing import Any

from .core.device import device
from .core.dtype import dtype
from .core.generator import Generator
from .core.layout import layout, memory_format
from .core.op import functions
from .core.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .core.size import Size
from .core.tensor import Tensor, TensorBase
from .serialization.file_reader import PyTorchFileReader

__all__ = [
    "device", "dtype", "Generator", "layout", "memory_format", "DisableTorchFunction", "DisableTorchFunctionSubclass",
    "DispatchKey", "DispatchKeySet", "Size", "TensorBase", "_VariableFunctions", "_VariableFunctionsClass",
    "PyTorchFileReader", "_TensorMeta", "_log_api_usage_once",
]  # fmt: skip

DispatchKey = enum.Enum("DispatchKey", "CPU CUDA XPU Meta Autograd AutocastCPU AutocastCUDA AutocastXPU")


class DispatchKeySet(frozenset[DispatchKey]):
    """A set of keys; nothing is dispatched by them here."""

    def __new__(cls, *keys: DispatchKey) -> DispatchKeySet:
        return super().__new__(cls, keys)

    def __or__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(*self, *other)


_VariableFunctionsClass = type(
    "_VariableFunctionsClass", (), {name: staticmethod(function) for name, function in functions.items()}
)
"""Where pickles say that torch's functions are."""
_TensorMeta = type(Tensor)
_VariableFunctions = _VariableFunctionsClass()


def _log_api_usage_once(event: Any) -> None:
    """Nothing is logged."""
