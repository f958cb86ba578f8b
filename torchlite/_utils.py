"""`torch._utils`: the functions that pickled tensors and parameters are made by, and small helpers that others use."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from .core.machine import format as _format
from .core.values import DeviceLike
from .core.values.device import device as _Device
from .core.values.dtype import dtype as _dtype
from .nested._strided import _rebuild_nested_tensor
from .nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state
from .operations.making.pickles import (
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
)
from .overrides import resolve_name
from .utils.exceptions import ExceptionWrapper
from .utils.exceptions import _Message as KeyErrorMessage
from .utils.lists_of_tensors import _flatten_dense_tensors, _reorder_tensors_as, _take_tensors, _unflatten_dense_tensors

__all__ = [
    "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_device_tensor_from_numpy", "_rebuild_meta_tensor_no_storage",
    "_rebuild_nested_tensor", "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_qtensor",
    "_rebuild_sparse_tensor", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
    "_rebuild_wrapper_subclass", "ExceptionWrapper", "KeyErrorMessage", "_flatten_dense_tensors", "_reorder_tensors_as",
    "_take_tensors", "_unflatten_dense_tensors", "CallbackRegistry", "classproperty", "render_call", "try_import",
]  # fmt: skip


def _is_privateuse1_backend_available() -> bool:
    """Backends from outside have names of their own here."""
    return False


def try_import(module_name: str) -> ModuleType | None:
    """A module, or None where there is none of this name."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError:
        return None


def _import_dotted_name(name: str) -> Any:
    """What a name like "torch.nn.Linear" stands for."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module(__package__ if first == "torch" else first)
    for part in rest:
        found = getattr(found, part)
    return found


def render_call(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as one would write it, with tensors as short as can be."""
    with _format.printoptions(threshold=0, edgeitems=0):
        shown = [repr(arg) for arg in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{resolve_name(fn) or fn}({', '.join(shown)})"


class classproperty:
    """A property of a class itself."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.func(owner if owner is not None else type(instance))


class CallbackRegistry:
    """Functions to be called when something happens; what goes wrong in one is logged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[..., Any]] = []

    def add_callback(self, cb: Callable[..., Any]) -> None:
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: Any, **kwargs: Any) -> None:
        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception:
                logging.getLogger("torch._utils").exception("Exception in callback for %s", self.name)


# ---- devices and dtypes


def _element_size(dtype: _dtype) -> int:
    """How many bytes an element takes."""
    if not isinstance(dtype, _dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_available_device_type() -> str | None:
    """The type of the accelerator that there is, or None."""
    from .cuda import is_available

    return "cuda" if is_available() else None


def _get_device_module(device_type: str) -> ModuleType:
    """The module of a type of devices, as `torch.cuda`."""
    found = getattr(sys.modules[__package__], device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return found


def _get_device_index(device: DeviceLike, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device; with `optional`, the current one where there is none in `device`."""
    if isinstance(device, str):
        device = _Device(device)
    if isinstance(device, int):
        return device
    if isinstance(device, _Device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.type == "cpu" or device.index is not None:
            return -1 if device.type == "cpu" else device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if _get_available_device_type() is None:
        return None
    from .cuda import current_device

    return current_device()


def _get_all_device_indices() -> list[int] | None:
    """The numbers of all accelerators, or None where there is no such device."""
    if _get_available_device_type() is None:
        return None
    from .cuda import device_count

    return list(range(device_count()))
