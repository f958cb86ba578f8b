"""`torch.cuda.nvtx`: names for stretches of time in NVIDIA's profilers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _runtime, is_available


def _library() -> Any:
    if not is_available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    return _runtime().nvtx


def range_push(msg: str) -> None:
    """Begin a stretch."""
    _library().RangePush(msg)


def range_pop() -> None:
    """End the stretch begun last."""
    _library().RangePop()


def range_start(msg: str) -> int:
    """Begin a stretch that others may overlap; its number, by which it is ended."""
    return int(_library().RangeStart(msg, 0))


def range_end(range_id: int) -> None:
    """End a stretch that `range_start` began."""
    _library().RangeEnd(range_id)


def mark(msg: str) -> None:
    """Name a moment."""
    _library().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """The stretch that a `with` takes."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
