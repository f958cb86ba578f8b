"""Samples shared out among workers: `sharding_filter`."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """Who shares the samples out: processes of a distributed run, and within each, its workers."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3

    __str__ = enum.Enum.__str__


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every n-th sample, where n workers share the samples out among themselves."""

    def __init__(self, source_datapipe: IterDataPipe[Any], sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT
    ) -> None:
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group, (number, mine) in sorted(self.groups.items()):
            if self.sharding_group_filter is None or group == self.sharding_group_filter:
                self.instance_id = self.instance_id * number + mine
                self.num_of_instances *= number

    def __iter__(self) -> Iterator[Any]:
        yield from itertools.islice(self.source_datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self) -> int:
        return len(range(self.instance_id, len(self.source_datapipe), self.num_of_instances))
