"""Which pipes a pipe takes samples from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ...core.values import warn
from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe: TypeAlias = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """A pipe by its id, with such a graph of those that it takes samples from."""
    return _graph(datapipe, frozenset())


def _graph(datapipe: DataPipe, above: frozenset[int]) -> DataPipeGraph:
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    if id(datapipe) in above:
        return {}
    sources: DataPipeGraph = {}
    for pipe in _held(vars(datapipe)):
        sources |= _graph(pipe, above | {id(datapipe)})
    return {id(datapipe): (datapipe, sources)}


def _held(value: Any) -> Iterator[DataPipe]:
    """The pipes among the attributes of another."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _held(part)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _held(part)


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """The name that `traverse_dps` had."""
    said = "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    if only_datapipe is None:
        said += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warn(said, FutureWarning)
    return traverse_dps(datapipe)
