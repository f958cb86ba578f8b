"""`torch.utils._foreach_utils`: lists of tensors by device and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..core.machine import Tensor
from ..core.values.device import device as Device
from ..core.values.dtype import dtype

Indices: TypeAlias = list[int]
TensorListList: TypeAlias = list[list[Tensor | None]]

_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The types of devices on which optimizers of PyTorch prefer lists to single tensors."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The types of devices for which `fused=True` may be asked."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _has_foreach_support(tensors: Sequence[Any], device: Device) -> bool:
    """Whether lists of such tensors can be given to `torch._foreach_*`."""
    known = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return known and (device.type in (*_get_foreach_kernels_supported_devices(), "cpu"))


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[Device, dtype], tuple[TensorListList, Indices]]:
    """Lists of tensors that belong together, cut up by the device and the dtype of those in the first list."""
    first = tensorlistlist[0]
    if any(len(tensors) not in (0, len(first)) for tensors in tensorlistlist):
        raise RuntimeError("the lists of tensors must be empty, or as long as the first of them")
    places: dict[tuple[Device, dtype], Indices] = {}
    for i, t in enumerate(first):
        if t is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but the "
                f"{i}-th Tensor is not."
            )
        places.setdefault((t.device, t.dtype), []).append(i)
    return {
        key: ([[tensors[i] for i in at] if tensors else [] for tensors in tensorlistlist], at if with_indices else [])
        for key, at in places.items()
    }
