"""What programs register for an operator beside a class that takes operations over, or a class of modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.machine import TensorBase

HANDLERS: dict[tuple[Any, type], Callable[..., Any]] = {}


def handler_for(func: Callable[..., Any], taker: Any) -> Callable[..., Any] | None:
    """What is called instead of the `__torch_dispatch__` of a mode, or of a tensor's class; it is told which."""
    cls = type(taker)
    found = HANDLERS.get((func, cls)) if HANDLERS else None
    return None if found is None else functools.partial(found, cls if isinstance(taker, TensorBase) else taker)
