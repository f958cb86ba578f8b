"""What `_get_ddp_logging_data` tells of a module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor
from ..modules.batchnorm import SyncBatchNorm

__all__ = ["logging_data"]


def _size(params: Sequence[Tensor]) -> int:
    return sum(param.numel() * param.element_size() for param in params)


def logging_data(ddp: Any, backend: str) -> dict[str, Any]:
    """Its sizes, its options, and how far it has come."""
    reducer, params = ddp.reducer, [param for _, param in ddp._named]
    sizes = ", ".join(str(_size(bucket.params)) for bucket in reducer.buckets)
    names = ("master_addr", "master_port", "cuda_visible_devices")
    said = {name: os.environ.get(name.upper(), "N/A") for name in names}
    told = {
        "world_size": ddp.process_group.size(), "rank": ddp.process_group.rank(), "iteration": reducer.iteration,
        "module_name": type(ddp.module).__name__, "backend_name": backend, "bucket_sizes": sizes,
        "device_ids": ", ".join(map(str, ddp.device_ids or ())), "output_device": -1, "is_multi_device_module": 0,
        "dtypes": ", ".join(sorted({param.dtype.legacy.lower() for param in params})),
        "num_parameter_tensors": len(params), "total_parameter_size_bytes": _size(params),
        "bucket_cap_bytes": ddp.bucket_bytes_cap, "broadcast_buffers": int(ddp.broadcast_buffers),
        "find_unused_parameters": int(ddp.find_unused_parameters),
        "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view),
        "has_sync_bn": int(any(isinstance(part, SyncBatchNorm) for part in ddp.module.modules())),
        "torch_distributed_debug": os.environ.get("TORCH_DISTRIBUTED_DEBUG", "N/A"), **said,
    }  # fmt: skip
    if ddp.static_graph:
        told["static_graph"] = 1
    if reducer.iteration:
        told |= {"has_rebuilt_buckets": int(reducer._rebuilt), "num_buckets_reduced": len(reducer.buckets)}
    if reducer._rebuilt:
        told["rebuilt_bucket_sizes"] = sizes
        told["rebuilt_per_bucket_param_indices"] = ", ".join(" ".join(map(str, b.numbers)) for b in reducer.buckets)
    return told
