"""`torch.cuda.comm`: tensors handed out to several devices, and brought together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import DeviceLike
from ..core.values.device import device as Device

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _device(where: Any) -> Device:
    """A device given by its number, too; -1 is the CPU."""
    if not isinstance(where, int):
        return Device(where)
    return Device("cpu") if where == -1 else Device("cuda", where)


def broadcast(tensor: Tensor, devices: Sequence[Any] | None = None, *, out: Any = None) -> tuple[Tensor, ...]:
    """A tensor on each of several devices."""
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is not None:
        return tuple([o.copy_(tensor) for o in out])
    return tuple([tensor.to(_device(d)) for d in devices or ()])


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Any], buffer_size: int = 10485760) -> Any:
    """Several tensors on each of several devices: a tuple for each device."""
    return tuple([tuple([t.to(_device(d)) for t in tensors]) for d in devices])


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of one shape that lie on different devices."""
    if not inputs:
        raise RuntimeError("reduce_add expects at least one tensor in inputs")
    shape = inputs[0].shape
    for i, t in enumerate(inputs):
        if not t.is_cuda:
            raise AssertionError("reduce_add expects all inputs to be on GPUs")
        if t.shape != shape:
            got, expected = ("x".join(map(str, s)) for s in (t.shape, shape))
            raise ValueError(f"input {i} has invalid size: got {got}, but expected {expected}")
    where = inputs[0].device if destination is None else _device(destination)
    total = inputs[0].to(where, copy=len(inputs) > 1)
    for t in inputs[1:]:
        total += t.to(where)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Any, ...]:  # fmt: skip
    """The sums of tensors of which there is one on each device: the first of all, the second of all, and so on."""
    return tuple([reduce_add(each, destination) for each in zip(*inputs)])


def scatter(
    tensor: Tensor, devices: Sequence[Any] | None = None, chunk_sizes: Sequence[int] | None = None, dim: int = 0,
    streams: Any = None, *, out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts of a tensor along a dimension, one on each device."""
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError(
                "'devices' and 'chunk_sizes' must not be specified when 'out' is specified, but got "
                f"devices={devices} and chunk_sizes={chunk_sizes}"
            )
        parts = tensor.split([o.shape[dim] for o in out], dim)
        return tuple([o.copy_(part) for o, part in zip(out, parts)])
    places = [_device(d) for d in devices or ()]
    parts = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple([part.to(place) for part, place in zip(parts, places)])


def gather(
    tensors: Sequence[Tensor], dim: int = 0, destination: DeviceLike = None, *, out: Tensor | None = None
) -> Tensor:
    """Tensors from several devices one after the other."""
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
            )
        return functions["cat"]([t.to(out.device) for t in tensors], dim, out=out)
    if destination == -1:
        warnings.warn(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, e.g., "
            '"cpu".',
            FutureWarning,
            stacklevel=2,
        )
    where = tensors[0].device if destination is None else _device(destination)
    return functions["cat"]([t.to(where) for t in tensors], dim)
