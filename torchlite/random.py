"""`torch.random`: seeds and states of the random streams."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from .core.machine import Generator, Tensor, _defaults
from .core.machine.generator import checked_seed as _checked
from .core.machine.generator import default_generator as _default
from .core.machine.generator import seed_all as _seed_all
from .core.state import Context, State
from .core.values import CPU
from .core.values.device import device

default_generator = _default(CPU)


def manual_seed(seed: Any) -> Generator:
    """Start every device's stream from `seed`."""
    _seed_all(_checked(int(seed)))
    return default_generator


def seed() -> int:
    """Start every device's stream from a seed of the system's choice, and return it."""
    chosen = default_generator.seed()
    manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """The seed that the CPU's stream was last started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the CPU's stream."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from a state that `get_rng_state` gave."""
    default_generator.set_state(new_state)


def kept_streams() -> dict[device, Any]:
    """Copies of every device's stream."""
    return {where: generator.stream.clone() for where, generator in list(_defaults.items())}


def put_streams(kept: dict[device, Any]) -> None:
    """Let the devices' streams go on from where those kept are."""
    for where, stream in kept.items():
        _default(where).stream.set_state(stream.get_state())


class fork_rng(Context, contextlib.ContextDecorator):
    """Inside, draws are made as always; afterwards the streams are where they were before."""

    def __init__(
        self, devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
        device_type: str = "cuda",
    ) -> None:  # fmt: skip
        device(device_type)
        self.enabled = enabled

    def _take(self, state: State) -> dict[device, Any]:
        return kept_streams() if self.enabled else {}

    def _set(self, state: State, kept: dict[device, Any]) -> None:
        pass

    def _put(self, state: State, kept: dict[device, Any]) -> None:
        put_streams(kept)


_own = threading.local()


def thread_safe_generator() -> Generator | None:
    """The generator of a data loader's worker thread; None in other threads, which have the default one."""
    return getattr(_own, "generator", None)


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "thread_safe_generator"]
