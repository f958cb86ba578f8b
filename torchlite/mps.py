"""`torch.mps` where there is no such device: what is asked says so."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    pass


def empty_cache() -> NoReturn:
    raise RuntimeError("Cannot execute emptyCache() without MPS backend.")


def synchronize() -> NoReturn:
    raise RuntimeError("Cannot execute deviceSynchronize() without MPS backend.")
