"""Nested state dicts by names: keys joined by dots."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.machine import Tensor
from .._shard.sharded_tensor import ShardedTensor

Path = tuple[Any, ...]


def flatten_state_dict(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """What stands in a nested state by its names, and the keys and numbers that lead there."""
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _walk(state, ()):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path
    return flat, paths


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, (*path, str(key)))
    elif isinstance(value, list) and _goes_on(value):
        for number, inner in enumerate(value):
            yield from _walk(inner, (*path, number))
    else:
        yield path, value


def _goes_on(value: Any) -> bool:
    """Whether there are tensors or dicts in a list, or in lists in it."""
    if isinstance(value, list):
        return any(map(_goes_on, value))
    return isinstance(value, (Mapping, Tensor, ShardedTensor))


def put_at(state: Any, path: Path, value: Any) -> None:
    """Put something where keys and numbers lead, through dicts and lists that are made if they lack."""
    for key, following in itertools.pairwise(path):
        empty: Any = {} if isinstance(following, str) else []
        inner = _own(state, key)
        if inner is None:
            inner = empty
            _set(state, key, inner)
        state = inner
    _set(state, path[-1], value)


def _own(state: Any, key: Any) -> Any:
    if isinstance(state, list):
        return state[key] if key < len(state) else None
    return state.get(_spelled(state, key))


def _set(state: Any, key: Any, value: Any) -> None:
    if isinstance(state, list):
        state += [None] * (key + 1 - len(state))
        state[key] = value
    else:
        state[_spelled(state, key)] = value


def _spelled(state: Mapping[Any, Any], key: Any) -> Any:
    """The key that a dict has under a name: it may be a number."""
    return key if key in state else next((own for own in state if str(own) == key), key)


def unflatten_state_dict(flat: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state of which these are the parts."""
    state: dict[str, Any] = {}
    for name, value in flat.items():
        put_at(state, paths[name], value)
    return state
