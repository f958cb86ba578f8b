"""`torch._C`: of PyTorch's compiled core, the few names that pickles hold and that other packages touch."""

from __future__ import annotations

import enum
import faulthandler
import sys
import weakref
from typing import Any

from ..__config__ import parallel_info as _parallel_info
from ..__config__ import show as _show_config
from ..autograd import grad_mode, is_grad_enabled, is_inference_mode_enabled
from ..autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from ..autograd.current_pass import (
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from ..autograd.forward_ad import _is_fwd_grad_enabled, _set_fwd_grad_enabled
from ..autograd.variable import _LegacyVariableBase
from ..constants import has_lapack, has_mkl, has_openmp, has_spectral
from ..core.declare import aten
from ..core.machine import Generator, Tensor, TensorBase, functions
from ..core.machine.function_modes import pop_mode as _pop_torch_function_stack
from ..core.machine.function_modes import push_mode as _push_on_torch_function_stack
from ..core.machine.overrides import DisableTorchFunction, DisableTorchFunctionSubclass, _disabled_torch_function_impl
from ..core.machine.subclasses import _disabled_torch_dispatch_impl
from ..core.memory import use_count as _storage_Use_Count
from ..core.state import local
from ..core.values import Size
from ..core.values.device import device, get_default_device
from ..core.values.dtype import dtype
from ..core.values.layout import layout, memory_format
from ..cpu import _get_cpu_capability
from ..jit import ScriptFunction
from ..operations.linalg.base import _LinAlgError
from ..overrides import (
    _get_function_stack_at,
    _get_torch_function_state,
    _is_torch_function_enabled,
    _len_torch_function_stack,
    _set_torch_function_state,
    _TorchFunctionState,
)
from ..overrides import has_torch_function as _has_torch_function
from ..overrides import has_torch_function_unary as _has_torch_function_unary
from ..overrides import has_torch_function_variadic as _has_torch_function_variadic
from ..serialization.file_reader import PyTorchFileReader
from ..serialization.file_writer import PyTorchFileWriter
from ..testing._file_check import FileCheck
from . import _autograd, _functions, _functorch, _lacking, _nn, _profiler
from ._jit import *
from ._themes import _fft, _linalg, _special
from ._told import *

__all__ = [
    "FileCheck", "_LegacyVariableBase", "_WeakTensorRef", "_LinAlgError", "_autograd", "_data_address", "_functions",
    "_fft", "_linalg", "_nn", "_profiler", "_special", "ScriptFunction",
    "_current_autograd_node", "_current_graph_task_execution_order", "_current_graph_task_id",
    "_is_fwd_grad_enabled", "_set_fwd_grad_enabled", "_will_engine_execute_node", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "set_anomaly_enabled",
    "device", "dtype", "Generator", "layout", "memory_format", "DisableTorchFunction", "DisableTorchFunctionSubclass",
    "DispatchKey", "DispatchKeySet", "Size", "TensorBase", "_VariableFunctions", "_VariableFunctionsClass",
    "PyTorchFileReader", "PyTorchFileWriter", "_TensorMeta", "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl", "_get_function_stack_at",
    "_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic", "_is_torch_function_enabled",
    "_len_torch_function_stack", "_pop_torch_function_stack", "_push_on_torch_function_stack", "_log_api_usage_once",
    "_TorchFunctionState", "_get_torch_function_state", "_set_torch_function_state", "_get_cpu_capability",
    "_get_privateuse1_backend_name", "_parallel_info", "_set_conj", "_set_neg", "_show_config", "_storage_Use_Count",
]  # fmt: skip

_is_multithreading_enabled = grad_mode.is_multithreading_enabled
_set_grad_enabled, _set_multithreading_enabled = grad_mode.set_grad_enabled, grad_mode.set_multithreading_enabled

DispatchKey = enum.Enum("DispatchKey", "CPU CUDA XPU Meta Autograd AutocastCPU AutocastCUDA AutocastXPU")


class DispatchKeySet(frozenset[DispatchKey]):
    """A set of keys; nothing is dispatched by them here."""

    def __new__(cls, *keys: DispatchKey) -> DispatchKeySet:
        if len(keys) != 1 or not isinstance(keys[0], DispatchKey):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. torch._C.DispatchKeySet(arg0: torch._C.DispatchKey)\n\nInvoked with: "
                + ", ".join(map(repr, keys))
            )
        return super().__new__(cls, keys)

    def __or__(self, other: Any) -> DispatchKeySet:
        return frozenset.__new__(DispatchKeySet, frozenset.__or__(self, other))

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among these."""
        return key in self


def _set_conj(t: Tensor, conj: bool) -> None:
    """Say whether a tensor stands for the conjugates of what is in its memory."""
    if t.is_conj() is not conj:
        other = t.conj()
        t._array, t._backend = other._array, other._backend


def _set_neg(t: Tensor, neg: bool) -> None:
    """Say whether a tensor stands for the negatives of what is in its memory."""
    if t.is_neg() is not neg:
        other = t._neg_view()
        t._array, t._backend = other._array, other._backend


def _function(_: Any, name: str) -> Any:
    """A function of torch that is written in Python or is a method alone, or what stands for one that there is not."""
    places = (getattr(sys.modules["torchlite"], name, None), aten.get(name), vars(Tensor).get(name))
    found = next(filter(callable, places), _lacking.FUNCTIONS.get(name))
    if found is None:
        raise AttributeError(f"'_VariableFunctionsClass' object has no attribute '{name}'")
    return found


_VariableFunctionsClass = type(
    "_VariableFunctionsClass",
    (),
    {name: staticmethod(function) for name, function in functions.items()} | {"__getattr__": _function},
)
"""Where pickles say that torch's functions are."""
_TensorMeta = type(Tensor)
_VariableFunctions = _VariableFunctionsClass()


class _WeakTensorRef:
    """A reference that does not keep a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, TensorBase):
            raise TypeError("expect tensor")
        self._tensor = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._tensor() is None


def _data_address(tensor: Tensor) -> int:
    """Where the elements begin."""
    return tensor.data_ptr()


def _set_print_stack_traces_on_fatal_signal(print: bool) -> None:
    """Whether a process that the system ends for a fault says where it was."""
    (faulthandler.enable if print else faulthandler.disable)()


def _log_api_usage_once(event: Any) -> None:
    """Nothing is logged."""


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of functions runs in this thread."""
    return bool(local.state.levels)


_debug_only_display_vmap_fallback_warnings = _functorch._set_vmap_fallback_warning_enabled


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    return _functorch.fallback.warns


def _get_privateuse1_backend_name() -> str:
    """What devices of a backend from outside are called in PyTorch. Here each has the name it registers."""
    return "privateuseone"


def _get_default_device() -> str:
    return str(get_default_device())


def _get_accelerator(check: bool | None = None) -> device:
    """The device that computes fastest."""
    from .. import accelerator

    return accelerator.current_accelerator() or device("cpu")
