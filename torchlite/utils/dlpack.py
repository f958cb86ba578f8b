"""`torch.utils.dlpack`: tensors handed to other libraries, and taken from them."""

from __future__ import annotations

from ..operations.making.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
