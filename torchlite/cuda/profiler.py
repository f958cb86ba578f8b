"""`torch.cuda.profiler`: which stretch of a program NVIDIA's profilers look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import cudart

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Let the profiler begin to collect."""
    cudart().profilerStart()


def stop() -> None:
    """Let the profiler end it."""
    cudart().profilerStop()


@contextmanager
def profile() -> Iterator[None]:
    """Inside, the profiler collects."""
    start()
    try:
        yield
    finally:
        stop()
