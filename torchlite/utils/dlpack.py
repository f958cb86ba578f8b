"""`torch.utils.dlpack`: tensors handed to other libraries, and taken from them."""

from __future__ import annotations

import enum

from ..core.op import functions

__all__ = ["DLDeviceType", "from_dlpack"]

from_dlpack = functions["from_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The devices that DLPack knows."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
