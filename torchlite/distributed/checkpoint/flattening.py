"""Nested state dicts by names: keys joined by dots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem, setitem
from typing import Any

from ...core.machine import Tensor
from .._shard.sharded_tensor import ShardedTensor

Place = tuple[Callable[[], Any], Callable[[Any], None]]  # what is there, and how something else is put there


def places(state: dict[str, Any]) -> dict[str, Place]:
    """What stands in a nested dict: tensors, and objects in which there are none."""
    return dict(_walk(state, ""))


def _walk(container: Any, prefix: str) -> Iterator[tuple[str, Place]]:
    for key, value in container.items() if isinstance(container, dict) else enumerate(container):
        name = f"{prefix}{key}"
        if (isinstance(value, dict) and value) or (isinstance(value, list) and _has_tensors(value)):
            yield from _walk(value, f"{name}.")
        else:
            yield name, (partial(getitem, container, key), partial(setitem, container, key))


def _has_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensors, value))
    return isinstance(value, (Tensor, ShardedTensor))
