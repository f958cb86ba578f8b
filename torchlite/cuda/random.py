"""`torch.cuda`'s random numbers: the streams that draws on CUDA devices use when no generator is named."""

from __future__ import annotations

import os
from typing import Any

from ..core.machine import Generator, default_generator
from ..core.machine.generator import checked_seed
from ..core.values import DeviceLike
from ..core.values.device import device as Device
from . import _index, _needed, device_count

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip


def _of(device: DeviceLike) -> Generator:
    _needed()
    return default_generator(Device("cuda", _index(device)))


def _all() -> tuple[Generator, ...]:
    return tuple([_of(index) for index in range(device_count())])


def manual_seed(seed: int) -> None:
    """Start the current device's stream from a seed; nothing is done where there is no device."""
    seed = int(seed)
    if device_count():
        _of(None).manual_seed(checked_seed(seed))


def manual_seed_all(seed: int) -> None:
    """Start the streams of all devices from a seed; nothing is done where there are none."""
    seed = int(seed)
    for generator in _all():
        generator.manual_seed(checked_seed(seed))


def seed() -> None:
    """Start the current device's stream from a seed of the system's choice."""
    if device_count():
        _of(None).seed()


def seed_all() -> None:
    """Start the streams of all devices from one seed of the system's choice."""
    manual_seed_all(int.from_bytes(os.urandom(8), "little"))


def initial_seed() -> int:
    """The seed that the current device's stream was last started from."""
    return _of(None).initial_seed()


def get_rng_state(device: DeviceLike = "cuda") -> Any:
    """The state of a device's stream, as a tensor of bytes on the CPU."""
    return _of(device).get_state()


def get_rng_state_all() -> list[Any]:
    """The states of the streams of all devices, as `get_rng_state` gives one."""
    return [generator.get_state() for generator in _all()]


def set_rng_state(new_state: Any, device: DeviceLike = "cuda") -> None:
    """Go on from what `get_rng_state` gave."""
    _of(device).set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Go on, on all devices, from what `get_rng_state_all` gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def __getattr__(name: str) -> Any:
    if name == "default_generators":  # those of the devices that there are when it is asked
        return _all()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
