"""`torch._utils`: the functions that pickled tensors and parameters are made by, and exceptions from elsewhere."""

from __future__ import annotations

from .nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state
from .ops.pickles import (
    _rebuild_device_tensor_from_cpu_tensor,
    _rebuild_device_tensor_from_numpy,
    _rebuild_meta_tensor_no_storage,
    _rebuild_nested_tensor,
    _rebuild_qtensor,
    _rebuild_sparse_tensor,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
)
from .utils.exceptions import ExceptionWrapper

__all__ = [
    "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_device_tensor_from_numpy", "_rebuild_meta_tensor_no_storage",
    "_rebuild_nested_tensor", "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_qtensor",
    "_rebuild_sparse_tensor", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
    "_rebuild_wrapper_subclass", "ExceptionWrapper",
]  # fmt: skip
