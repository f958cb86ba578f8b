"""What a DataLoader sets in the pipes that its dataset is made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.generator import Generator
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .sampler import drawn_seed


def all_pipes(datapipe: Any) -> list[Any]:
    """A pipe and those from which it takes samples, each once."""
    found = {id(datapipe): datapipe}
    left = [datapipe]
    while left:
        for pipe in _held(vars(left.pop())):
            if id(pipe) not in found:
                found[id(pipe)] = pipe
                left.append(pipe)
    return list(found.values())


def _held(value: Any) -> Iterator[Any]:
    """The pipes among the attributes of another."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _held(part)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _held(part)


def _with(datapipe: Any, *methods: str) -> list[Any]:
    """The pipes that have methods of their own by these names."""
    return [pipe for pipe in all_pipes(datapipe) if all([hasattr(type(pipe), name) for name in methods])]


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Let a pipe yield the share of one of several workers."""
    for pipe in _with(datapipe, "apply_sharding"):
        pipe.apply_sharding(num_of_instances, instance_id)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Let all pipes that shuffle do so, or not; None leaves them as they are. If none does and one should, add one."""
    if shuffle is None:
        return datapipe
    shufflers = _with(datapipe, "set_shuffle", "set_seed")
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware "
            "that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        return datapipe.shuffle()
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def seed_pipes(datapipe: Any, seed: int | None) -> None:
    """Give all random pipes seeds that follow from one; None for datasets that are no pipes."""
    if seed is not None:
        apply_random_seed(datapipe, Generator().manual_seed(seed))


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give all random pipes seeds from a generator, the same in all workers."""
    for pipe in _with(datapipe, "set_seed"):
        pipe.set_seed(drawn_seed(rng))
    return datapipe
