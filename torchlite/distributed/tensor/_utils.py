"""`torch.distributed.tensor._utils`: what each process has of a tensor."""

from __future__ import annotations

from ._dtensor_spec import compute_local_shape_and_global_offset

__all__ = ["compute_local_shape_and_global_offset"]
