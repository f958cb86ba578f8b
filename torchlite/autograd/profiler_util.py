"""What a profiler has seen: events, their sums by name, and tables of both."""

from __future__ import annotations

import json
import os
import weakref
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Interval:
    """A span of time, in microseconds since profiling began."""

    start: float
    end: float = 0.0

    def elapsed_us(self) -> float:
        return self.end - self.start


class _Timed:
    """What events and sums of events have in common: times in microseconds, as numbers and as text."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """The average time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)


@dataclass(eq=False, repr=False)
class FunctionEvent(_Timed):
    """One call of an operation, one run of a node, or one stretch inside `record_function`."""

    id: int
    name: str
    thread: int
    time_range: Interval
    input_shapes: list[list[int]] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    is_user_annotation: bool = False
    parent: weakref.ref[FunctionEvent] | None = None  # which owns this event
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    count: int = 1

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        return None if self.parent is None else self.parent()

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time spent in none of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


@dataclass(eq=False, repr=False)
class FunctionEventAvg(_Timed):
    """All events of one name, or all there are."""

    key: str = "Total"
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    input_shapes: Any = ""
    stack: list[str] = field(default_factory=list)
    is_user_annotation: bool = False
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_children += event.cpu_children
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events, or their sums."""

    @property
    def self_cpu_time_total(self) -> float:
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums by name, and by input shapes or the innermost lines of the stack if asked for."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            name = "ProfilerStep*" if event.name.startswith("ProfilerStep#") else event.name
            shapes = event.input_shapes if group_by_input_shapes else ""
            stack = event.stack[:group_by_stack_n]
            into = sums.setdefault(
                (name, str(shapes), *stack),
                FunctionEventAvg(
                    name,
                    input_shapes=shapes,
                    stack=stack,
                    is_user_annotation=event.is_user_annotation,
                    cpu_parent=event.cpu_parent,
                ),
            )
            into.add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg(input_shapes=[])
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, those with the most of `sort_by` first."""
        if not self:
            return ""
        events = self if sort_by is None else sorted(self, key=lambda e: getattr(e, sort_by), reverse=True)
        if top_level_events_only:
            events = [e for e in events if e.cpu_parent is None]
        events = events[:row_limit] if row_limit >= 0 else events
        total = self.self_cpu_time_total

        def cells(e: Any) -> list[str]:
            times = e.self_cpu_time_total, e.cpu_time_total, e.cpu_time
            own, whole, average = (format_time(t, time_unit) for t in times)
            return [
                _shortened(e.key, max_name_column_width), _percent(times[0], total), own, _percent(times[1], total),
                whole, average, str(e.count), *([_shortened(str(e.input_shapes), max_shapes_column_width)] * shown),
            ]  # fmt: skip

        shown = any(e.input_shapes for e in self)
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        titles += ["Input Shapes"] * shown
        widths = [min(max(len(e.key) for e in self) + 4, max_name_column_width), *[12] * 6]
        widths += [min(max(len(str(e.input_shapes)) for e in self) + 4, max_shapes_column_width)] * shown
        rule = "".join("-" * w + "  " for w in widths)
        double = "=" * (len(rule) - 2)
        lines = [] if header is None else [double, header]
        if top_level_events_only:
            lines += [double, "This report only display top-level ops statistics"]
        lines += [rule, _row(titles, widths), rule, *(_row(cells(e), widths) for e in events), rule]
        return "\n".join([*lines, f"Self CPU time total: {format_time(total, time_unit)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events to a file that chrome://tracing and Perfetto show."""
        process = os.getpid()
        events = [
            {
                "ph": "X", "cat": "user_annotation" if e.is_user_annotation else "cpu_op", "name": e.name,
                "pid": process, "tid": e.thread, "ts": e.time_range.start, "dur": e.cpu_time_total,
                "args": {"Input Dims": e.input_shapes} if e.input_shapes else {},
            }
            for e in self
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}, file)


_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(microseconds: float, unit: str | None = None) -> str:
    """A time in the largest unit that it fills, or in the one given."""
    if unit is None:
        unit = next((u for u, size in _UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def _percent(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _row(cells: list[str], widths: list[int]) -> str:
    return "".join(f"{cell:>{width}}  " for cell, width in zip(cells, widths))
