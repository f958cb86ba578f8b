"""`torch.xpu` where there is no such device: what is asked says so."""

from __future__ import annotations

from typing import Any, NoReturn

from .core.values.arrays import DeviceLike

__all__ = [
    "current_device", "device_count", "empty_cache", "get_device_name", "init", "is_available", "is_bf16_supported",
    "is_initialized", "manual_seed", "manual_seed_all", "memory_allocated", "set_device", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    return False


is_initialized = is_bf16_supported = is_available


def device_count() -> int:
    return 0


def memory_allocated(device: DeviceLike = None) -> int:
    return 0


def empty_cache() -> None:
    pass


def manual_seed(seed: int) -> None:
    pass


manual_seed_all = manual_seed


def init(*_: Any) -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


current_device = get_device_name = set_device = synchronize = init
