"""`torch.onnx.operators`: operations that an export would see into."""

from __future__ import annotations

from ..core.machine.tensor import Tensor
from ..operations.making.host_data import tensor

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    return x.reshape(shape.tolist())
