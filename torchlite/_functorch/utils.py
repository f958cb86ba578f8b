"""`torch._functorch.utils`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .._C._functorch import unwrap_if_dead
from ..core.machine import TensorBase
from ..func.arguments import Argnums as argnums_t

__all__ = ["exposed_in", "argnums_t", "enable_single_level_autograd_function", "unwrap_dead_wrappers"]


@contextlib.contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """Nothing needs to be allowed: a Function knows by its inputs on which level it is called."""
    yield


def unwrap_dead_wrappers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with the tensors inside in place of those that a transform has left behind."""
    return tuple([unwrap_if_dead(v) if isinstance(v, TensorBase) else v for v in args])


def exposed_in(module: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of a function that it is of another module."""

    def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__module__ = module
        return function

    return wrapper
