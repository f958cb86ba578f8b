"""One model on several devices of one machine; on none or one, the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import cuda
from ...core.device import device as Device
from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids: Sequence[Any] | None) -> list[int]:
    """The numbers of the devices to use: all there are, if nothing is said."""
    if not cuda.is_available():
        return []
    found = range(cuda.device_count()) if device_ids is None else device_ids
    numbers = [d if isinstance(d, int) else Device(d).index or 0 for d in found]
    if len(numbers) > 1:
        raise NotImplementedError(
            f"torchlite runs DataParallel on one device so far, not on {numbers}: pass device_ids=[{numbers[0]}]"
        )
    return numbers


class DataParallel(Module):
    """Calls its module, on the device given if there is one."""

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids = _devices(device_ids)
        if self.device_ids:
            self.dim = dim
            self.output_device = self.device_ids[0] if output_device is None else output_device
            self.src_device_obj = Device("cuda", self.device_ids[0])
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            inputs, kwargs = _moved(inputs, self.src_device_obj), _moved(kwargs, self.src_device_obj)
        return self.module(*inputs, **kwargs)


def _moved(value: Any, device: Any) -> Any:
    """Tensors, in containers too, on a device."""
    if hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, dict):
        return {key: _moved(item, device) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [_moved(item, device) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """What a module gives on the device given."""
    devices = _devices(device_ids)
    if not devices:
        raise RuntimeError("device type could not be determined")
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    where = Device("cuda", devices[0])
    return module.to(where)(*_moved(args, where), **_moved(module_kwargs or {}, where))


DataParallel.__module__ = "torch.nn.parallel.data_parallel"
