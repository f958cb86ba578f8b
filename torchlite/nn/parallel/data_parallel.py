"""One model on several devices of one machine; on none or one, the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ... import cuda
from ...core.values import shown_in
from ...core.values.device import device as Device
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import device_of, gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids: Sequence[int | Device] | None) -> list[Device]:
    """The devices to use: all of CUDA's, if nothing is said."""
    if device_ids is None:
        device_ids = range(cuda.device_count())
    found = [device_of(d) for d in device_ids]
    if any(d.type == "cuda" for d in found) and not cuda.is_available():
        return []
    return [d if d.index is not None else Device(d.type, 0) for d in found]


def _on_all(module: Module, inputs: Any, kwargs: dict[str, Any], devices: list[Device], output: Any, dim: int) -> Any:
    for t in chain(module.parameters(), module.buffers()):
        if t.device != devices[0]:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {devices[0]} (device_ids[0]) but found one of "
                f"them on device: {t.device}"
            )
    pieces, named = scatter_kwargs(inputs, kwargs, devices, dim)
    if not pieces:
        pieces, named = ((),), ({},)
    if len(devices) == 1:
        return module(*pieces[0], **named[0])
    used = devices[: len(pieces)]
    return gather(parallel_apply(replicate(module, used), pieces, named, used), output, dim)


@shown_in("torch.nn.parallel.data_parallel")
class DataParallel(Module):
    """Cuts its inputs along `dim`, calls copies of its module on all devices at once, and joins the results.

    `device_ids` are numbers of CUDA devices, or devices.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[int | Device] | None = None,
        output_device: int | Device | None = None, dim: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.module = module
        self._devices = _devices(device_ids)
        self.device_ids = [d.index for d in self._devices]
        if self._devices:
            self.dim = dim
            self.output_device = self._devices[0] if output_device is None else output_device
            self.src_device_obj = self._devices[0]
            if len(self._devices) == 1:
                self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self._devices:
            return self.module(*inputs, **kwargs)
        return _on_all(self.module, inputs, kwargs, self._devices, self.output_device, self.dim)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[int | Device] | None = None,
    output_device: int | Device | None = None, dim: int = 0, module_kwargs: Any = None,
) -> Any:  # fmt: skip
    """The result of a module, computed on several devices at once."""
    devices = _devices(device_ids)
    if not devices:
        raise RuntimeError("device type could not be determined")
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return _on_all(module, args, module_kwargs, devices, devices[0] if output_device is None else output_device, dim)
