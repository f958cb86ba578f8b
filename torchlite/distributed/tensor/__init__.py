"""`torch.distributed.tensor`: tensors over meshes of processes."""

from ...faces import later
from ..device_mesh import DeviceMesh, init_device_mesh
from . import _api
from ._api import *
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard", *_api.__all__]
__getattr__ = later(__name__)
