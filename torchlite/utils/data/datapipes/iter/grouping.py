"""Samples that belong together: `groupby`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from .functions import checked_function

__all__ = ["GrouperIterDataPipe"]


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Samples of one key in chunks, of `group_size` where that is given.

    At most `buffer_size` samples wait for more of their key; then the largest group goes, whole or not: if it has
    `guaranteed_group_size`, or is dropped if so said.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], group_key_fn: Callable[[Any], Any], *, keep_key: bool = False,
        buffer_size: int = 10000, group_size: int | None = None, guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        self.datapipe = datapipe
        self.group_key_fn = checked_function(group_key_fn)
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def _group(self, key: Any, samples: list[Any]) -> Any:
        chunk = self.wrapper_class(samples)
        return (key, chunk) if self.keep_key else chunk

    def _give_way(self, groups: dict[Any, list[Any]]) -> Any:
        """Which group goes when there is no more room, or None if it is dropped."""
        key = max(groups, key=lambda k: len(groups[k]))
        wanted = self.guaranteed_group_size
        if wanted is not None and len(groups[key]) < wanted and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(groups[key]))
        return key

    def __iter__(self) -> Iterator[Any]:
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        size = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups[key].append(sample)
            size += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                size -= self.group_size
                yield self._group(key, groups.pop(key))
            if size == self.max_buffer_size:
                key = self._give_way(groups)
                group = groups.pop(key)
                size -= len(group)
                if self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size:
                    yield self._group(key, group)
        for key in tuple(groups):
            yield self._group(key, groups.pop(key))
