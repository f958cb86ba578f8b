"""What profilers keep count with: steps, keys that are seen once, and allocations by time."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from ..core.values import warn


class EnforceUnique:
    """Raises an error where a key comes a second time."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Take note of a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts the steps of several who count: the step is that of who is furthest."""

    _current_step = 0
    _step_dict: ClassVar[dict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let somebody begin to count at the present step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget who counts; whether they were known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of somebody's; the step that it is for all."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        furthest = max(cls._step_dict.values())
        if furthest > cls._current_step:
            if furthest - cls._current_step > 1:
                warn(
                    "Profiler step count has increased more than 1 - "
                    f"current_step = {cls._current_step} step dict =  {cls._step_dict}"
                )
            cls._current_step = furthest
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The step that it is for all."""
        return cls._current_step


class MemRecordsAcc:
    """Finds records of memory by their time."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._mem_records = mem_records
        self._order = sorted(range(len(mem_records)), key=lambda at: mem_records[at][0].start_ns())
        self._starts = [mem_records[at][0].start_ns() for at in self._order]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records from one time to another."""
        first, last = bisect.bisect_left(self._starts, start_ns), bisect.bisect_right(self._starts, end_ns)
        for at in self._order[first:last]:
            yield self._mem_records[at]
