"""Inputs cut into pieces for several devices, and results put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor, functions
from ...core.values import warn
from ...core.values.device import device as Device

__all__ = ["scatter", "scatter_kwargs", "gather"]


def device_of(target: int | Device) -> Device:
    """A device given as itself or as the number of a CUDA device; -1 is the CPU."""
    if isinstance(target, int):
        return Device("cpu") if target == -1 else Device("cuda", target)
    return Device(target)


def _like(container: Any, parts: list[Any]) -> Any:
    """A tuple, named tuple or list of other things."""
    return type(container)(*parts) if hasattr(container, "_fields") else type(container)(parts)


def scatter(inputs: Any, target_gpus: Sequence[int | Device], dim: int = 0) -> Any:
    """For each device its piece of all tensors, in containers too; anything else goes to all of them."""
    devices = [device_of(target) for target in target_gpus]
    for device in devices:
        if device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")

    def cut(value: Any) -> list[Any]:
        if isinstance(value, Tensor):
            return [piece.to(device) for piece, device in zip(value.chunk(len(devices), dim), devices)]
        if isinstance(value, (tuple, list)) and value:
            return [_like(value, list(parts)) for parts in zip(*map(cut, value))]
        if isinstance(value, dict) and value:
            return [type(value)(zip(value, parts)) for parts in zip(*map(cut, value.values()))]
        return [value for _ in devices]

    return cut(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[int | Device], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The positional and the named arguments for each device; where there are fewer of ones, none of those."""
    cut = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(cut), len(named))
    return tuple(cut + [()] * (count - len(cut))), tuple(named + [{}] * (count - len(named)))


def gather(outputs: Any, target_device: int | Device, dim: int = 0) -> Any:
    """The results of all devices as one, on one device: tensors joined, in containers too."""
    device = device_of(target_device)

    def join(parts: Sequence[Any]) -> Any:
        first = parts[0]
        if isinstance(first, Tensor):
            return _joined(parts, device, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(part) != len(first) for part in parts):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, join([part[key] for part in parts])) for key in first)
        return _like(first, [join(each) for each in zip(*parts)])

    return join(outputs)


def _joined(parts: Sequence[Tensor], device: Device, dim: int) -> Tensor:
    if all(part.device.type == "cpu" for part in parts):
        raise AssertionError("Gather function not implemented for CPU tensors")
    if dim == 0 and all(not part.dim() for part in parts):
        warn(
            "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
            "return a vector.",
        )
        parts = [part.view(1) for part in parts]
    return functions["cat"]([part.to(device) for part in parts], dim)
