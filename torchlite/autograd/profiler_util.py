"""What a profiler has seen: events, their sums by name, and tables of both."""

from __future__ import annotations

import enum
import os
import weakref
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiler_memory import MemoryRecord


class DeviceType(enum.IntEnum):
    """Where an event took place."""

    CPU = 0
    CUDA = 1
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    MTIA = 19
    PrivateUse1 = 20


@dataclass
class Interval:
    """A span of time, in microseconds since profiling began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class _Timed:
    """What events and sums of events have in common: times in microseconds, as numbers and as text."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    # What is not measured here.
    device_time = device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    device_time_str = device_time_total_str = self_device_time_total_str = "0.000us"
    device_type = DeviceType.CPU
    use_device: str | None = None
    overload_name: str | None = None
    flops: int
    scope = 0
    is_async = is_remote = is_legacy = False

    @property
    def cpu_time(self) -> float:
        """The average time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return _format_time(self.self_cpu_time_total)


@dataclass(eq=False, repr=False)
class FunctionEvent(_Timed):
    """One call of an operation, one run of a node, or one stretch inside `record_function`."""

    id: int
    name: str
    thread: int
    start_us: InitVar[float]
    end_us: InitVar[float] = 0.0
    trace_name: str | None = None
    fwd_thread: int | None = None
    input_shapes: list[list[int]] = field(default_factory=list)
    stack: list[str] = field(default_factory=list)
    scope: int = 0
    sequence_nr: int = -1  # the number of the node that an operation made, or that is run
    node_id: int = -1
    is_async: bool = False
    is_remote: bool = False
    is_legacy: bool = False
    is_user_annotation: bool = False
    cpu_memory_usage: int = 0  # the bytes that came while it ran, less those that went
    flops: int = 0
    time_range: Interval = field(init=False)
    parent: weakref.ref[FunctionEvent] | None = field(default=None, init=False)  # which owns this event
    cpu_children: list[FunctionEvent] = field(default_factory=list, init=False)
    kernels: tuple[Any, ...] = field(default=(), init=False)
    count: int = field(default=1, init=False)

    def __post_init__(self, start_us: float, end_us: float) -> None:
        self.time_range = Interval(start_us, end_us)

    @property
    def key(self) -> str:
        """The name under which events are averaged."""
        return self.name

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The event that called this one."""
        return None if self.parent is None else self.parent()

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note an event that this one called."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the event that called this one."""
        self.parent = weakref.ref(parent)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time from beginning to end, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time spent in none of the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:  # type: ignore[override]
        """The bytes that came in none of the events inside, less those that went."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


@dataclass(eq=False, repr=False)
class FunctionEventAvg(_Timed):
    """All events of one name, or all there are."""

    key: str | None = None
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    flops: int = 0
    input_shapes: Any = ""
    stack: list[str] = field(default_factory=list)
    is_user_annotation: bool = False
    cpu_parent: FunctionEvent | None = None
    cpu_children: list[FunctionEvent] = field(default_factory=list)

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        if self.key is None:
            self.key = event.key
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        self.cpu_children += event.cpu_children
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or their sums."""

    supported_export_stacks_metrics = ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total")

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory
        self.memory: list[MemoryRecord] = []  # what came and went, one by one
        self.began = 0  # when times begin, in nanoseconds since 1970

    def _populate_cpu_children(self) -> None:
        """Say which event is inside of which, from their times."""
        of_thread: dict[tuple[int, int], list[FunctionEvent]] = {}
        for event in self:
            if not event.is_async:
                of_thread.setdefault((event.thread, event.node_id), []).append(event)
        for events in of_thread.values():
            around: list[FunctionEvent] = []
            for event in sorted(events, key=lambda e: (e.time_range.start, -e.time_range.end)):
                span = event.time_range
                while around and not (span.start < around[-1].time_range.end >= span.end):
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    _build_tree = _populate_cpu_children

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events without what they called, in microseconds."""
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
        return EventList(sums.values(), profile_memory=self.profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """One event that stands for all."""
        total = FunctionEventAvg("Total", input_shapes=[])
        for event in self:
            total.add(event)
        return total

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write for each event its stack, outermost line first, and its time: what a flame graph is drawn from."""
        if metric not in self.supported_export_stacks_metrics:
            raise ValueError(f"metric should be one of: {list(self.supported_export_stacks_metrics)}")
        spaces = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                time = int(getattr(event, metric.replace("cuda", "device").replace("xpu", "device")))
                if event.stack and time > 0:
                    stack = ";".join([line.translate(spaces) for line in reversed(event.stack)])
                    file.write(f"{stack} {time}\n")

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
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
            own, whole, average = (_format_time(t, time_unit) for t in times)
            return [
                _shortened(e.key, max_name_column_width), _percent(times[0], total), own, _percent(times[1], total),
                whole, average, *(map(_format_memory, (e.cpu_memory_usage, e.self_cpu_memory_usage) if kept else ())),
                str(e.count), *([_shortened(str(e.input_shapes), max_shapes_column_width)] * shown),
                *([f"{e.flops / size:8.3f}" if e.flops else "--"] * bool(counted)),
            ]  # fmt: skip

        shown = any(e.input_shapes for e in self)
        kept = self.profile_memory
        counted = [e.flops for e in self if e.flops]
        size, unit = _unit_of_flops(min(counted, default=1))
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        titles += ["CPU Mem", "Self CPU Mem"] * kept + ["# of Calls"] + ["Input Shapes"] * shown
        titles += [f"Total {unit}"] * bool(counted)
        widths = [min(max(len(e.key) for e in self) + 4, max_name_column_width), *[12] * (8 if kept else 6)]
        widths += [min(max(len(str(e.input_shapes)) for e in self) + 4, max_shapes_column_width)] * shown
        widths += [12] * bool(counted)
        rule = "".join("-" * w + "  " for w in widths)
        double = "=" * (len(rule) - 2)
        lines = [] if header is None else [double, header]
        if top_level_events_only:
            lines += [double, "This report only display top-level ops statistics"]
        lines += [rule, _row(titles, widths), rule, *(_row(cells(e), widths) for e in events), rule]
        return "\n".join([*lines, f"Self CPU time total: {_format_time(total, time_unit)}", ""])

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """The sums by name, with the most of their own time first, as notebooks show them."""
        from ..viz.tables import html_table

        summed = all(isinstance(e, FunctionEventAvg) for e in self)
        sums = sorted(self if summed else self.key_averages(), key=lambda e: -e.self_cpu_time_total)
        total = self.self_cpu_time_total
        kept = self.profile_memory
        rows = [["name", "own time", "of all", "time", "per call", "calls"] + ["own memory", "memory"] * kept]
        for e in sums[:30]:
            times = [_format_time(t) for t in (e.self_cpu_time_total, e.cpu_time_total, e.cpu_time)]
            rows.append([e.key, times[0], _percent(e.self_cpu_time_total, total), *times[1:], str(e.count)])
            rows[-1] += [_format_memory(n) for n in (e.self_cpu_memory_usage, e.cpu_memory_usage)] * kept
        more = f", {len(sums) - 30} more names" if len(sums) > 30 else ""
        return html_table(rows, f"Own time in all: {_format_time(total)}{more}")

    def export_chrome_trace(self, path: str | os.PathLike[str], **besides: Any) -> None:
        """Write the events to a file that chrome://tracing and Perfetto show, and what else it shall say."""
        from .profiler_trace import write_chrome_trace

        write_chrome_trace(self, path, **besides)


_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def _format_time(microseconds: float, unit: str | None = None) -> str:
    """A time in the largest unit that it fills, or in the one given."""
    if unit is None:
        unit = next((u for u, size in _UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def _format_memory(nbytes: int) -> str:
    """Bytes in the largest unit that they fill."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def _unit_of_flops(least: int) -> tuple[float, str]:
    """The largest unit that the least of several counts fills, and its name."""
    units = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
    step = min((len(str(least)) - 1) // 3, len(units) - 1)
    return 1000.0**step, units[step]


def _percent(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _row(cells: list[str], widths: list[int]) -> str:
    return "".join(f"{cell:>{width}}  " for cell, width in zip(cells, widths))
