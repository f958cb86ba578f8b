"""Copies of a module for several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.values.device import device as Device
from ..modules.module import Module
from .scatter_gather import device_of

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[int | Device], detach: bool = False) -> list[Module]:
    """A copy for each device, whose gradients go to the parameters of `network`."""
    targets = [device_of(device) for device in devices]
    for device in targets:
        if device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
    return [_copy(network, device, detach) for device in targets]


def _copy(network: Module, device: Device, detach: bool) -> Module:
    moved: dict[int, Any] = {}  # what was shared is shared in the copy

    def move(t: Any, record: bool) -> Any:
        if t is not None and id(t) not in moved:
            moved[id(t)] = (t if record else t.detach()).to(device)
        return None if t is None else moved[id(t)]

    copies = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, copy in copies.items():
        copy._modules = {name: None if m is None else copies[m] for name, m in module._modules.items()}
        copy._buffers = {name: move(t, False) for name, t in module._buffers.items()}
        copy._former_parameters = {name: move(p, not detach) for name, p in module._parameters.items()}
        copy.__dict__.update(copy._former_parameters)  # they are results here, and no parameters
    return copies[network]
