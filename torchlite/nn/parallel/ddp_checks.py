"""What DistributedDataParallel refuses."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor
from ...core.values import warn
from ...distributed.buckets import GradBucket
from ...distributed.world import _get_default_group
from ...futures import Future
from ..parameter import UninitializedParameter

_DEPRECATED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT "
    "being synced at init (e.g. rank-local buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is "
    "available."
)


def warn_of_buffers() -> None:
    warn(_DEPRECATED, FutureWarning)


def group_of(group: Any, mesh: Any) -> Any:
    """The processes that are meant: those of a group, or of a mesh of one dimension; all, if none are named."""
    if group is not None and mesh is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh is not None and mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    if mesh is not None:
        return mesh.get_group(mesh_dim=0)
    return _get_default_group() if group is None else group


def check_devices(named: Sequence[tuple[str, Tensor]], device_ids: Any, output_device: Any) -> None:
    if not named:
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
        )
    if any(isinstance(param, UninitializedParameter) for _, param in named):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
    devices = {param.device for _, param in named}
    if len({device.type for device in devices}) != 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
            f"locate in {({device.type for device in devices})}."
        )
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    if device_ids and ("cpu" in {device.type for device in devices} or len(devices) > 1):
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-"
            f"device GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and "
            f"module parameters {devices}."
        )


def check_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    bucket = list(itertools.islice(signature.parameters.values(), 1, 2))
    named = signature.parameters.get("bucket", bucket[0] if bucket else None)
    annotation = inspect.Parameter.empty if named is None else named.annotation
    if not isinstance(annotation, str) and annotation not in (inspect.Parameter.empty, GradBucket):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    returned = signature.return_annotation
    known = returned is inspect.Signature.empty or isinstance(returned, str)  # a name is taken on trust
    if not known and getattr(returned, "__origin__", returned) is not Future:
        raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")


def check_group(group: Any) -> None:
    if group is not _get_default_group():
        raise RuntimeError(
            "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when "
            "you have called init_process_group and have not passed process_group argument to DDP constructor"
        )
