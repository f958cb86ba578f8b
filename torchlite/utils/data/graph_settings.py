"""What a DataLoader sets in the pipes that its dataset is made of."""

from __future__ import annotations

import inspect
from typing import Any

from ...core.machine import Generator
from ...core.values import warn
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import DataPipeGraph, traverse_dps
from .sampler import drawn_seed

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[Any]:
    """The pipes of a graph, each once."""
    found: dict[int, Any] = {}
    left = [graph]
    while left:
        for number, (pipe, sources) in left.pop().items():
            if number not in found:
                found[number] = pipe
                left.append(sources)
    return list(found.values())


def _with(datapipe: Any, *methods: str) -> list[Any]:
    """The pipes that have methods of their own by these names, among one and those from which it takes samples."""
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    return [pipe for pipe in pipes if all([hasattr(type(pipe), name) for name in methods])]


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:  # fmt: skip
    """Let a pipe yield the share of one of several workers. No sample may pass two pipes that share out."""
    pipes: list[tuple[Any, Any]] = [(traverse_dps(datapipe), None)]
    while pipes:
        graph, before = pipes.pop()
        for pipe, sources in graph.values():
            after = before
            if hasattr(type(pipe), "apply_sharding"):
                if before is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding "
                        f"already applied to {before} while trying to apply to {pipe}"
                    )
                groups = (sharding_group,) if len(inspect.signature(pipe.apply_sharding).parameters) > 2 else ()
                pipe.apply_sharding(num_of_instances, instance_id, *groups)
                after = pipe
            pipes.append((sources, after))
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Let all pipes that shuffle do so, or not; None leaves them as they are. If none does and one should, add one."""
    if shuffle is None:
        return datapipe
    shufflers = _with(datapipe, "set_shuffle", "set_seed")
    if shuffle and not shufflers:
        warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware "
            "that the default buffer size might not be sufficient for your task.",
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


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The name that `apply_random_seed` had."""
    warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use "
        "`apply_random_seed` instead.",
        FutureWarning,
    )
    return apply_random_seed(datapipe, rng)
