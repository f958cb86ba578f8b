"""Traces of what was profiled, in the format that Chrome and Perfetto open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiler_util import EventList, FunctionEvent

_MODULE = "nn.Module: "


def write_chrome_trace(events: EventList, path: str | os.PathLike[str], **besides: Any) -> None:
    """Write events to a file: calls as slices, those that run backward tied to those that they differentiate,
    memory as a curve; `besides` are further fields of the file."""
    process = os.getpid()
    calls = [e for e in events if e.name != "[memory]"]
    threads = sorted({e.thread for e in events})
    trace: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "tid": 0, "args": {"name": "python"}},
        *[{"ph": "M", "name": "thread_name", "tid": n, "args": {"name": f"thread {n} (python)"}} for n in threads],
        *map(_slice, calls), *_ties(calls), *_memory(events),
    ]  # fmt: skip
    document = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": events.began, **besides}
    document["traceEvents"] = [{**e, "pid": process} for e in trace]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**document, "traceName": os.fspath(path)}, file)


def _slice(event: FunctionEvent) -> dict[str, Any]:
    """A call as a slice of time, in microseconds."""
    python = event.name.startswith(_MODULE)
    args: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    if event.input_shapes:
        args["Input Dims"] = event.input_shapes
    if event.flops:
        args["flops"] = event.flops
    kind = "python_function" if python else "user_annotation" if event.is_user_annotation else "cpu_op"
    return {
        "ph": "X", "cat": kind, "name": event.name, "tid": event.thread, "ts": event.time_range.start,
        "dur": event.cpu_time_total, "args": args,
    }  # fmt: skip


def _ties(calls: list[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """Arrows from the operation that made a node to the run of that node."""
    made: dict[int, FunctionEvent] = {}
    for event in calls:
        if event.sequence_nr < 0:
            continue
        forward = made.setdefault(event.sequence_nr, event)
        if event.name.startswith("autograd::") and forward is not event:
            tie = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr}
            yield {**tie, "ph": "s", "tid": forward.thread, "ts": forward.time_range.start}
            yield {**tie, "ph": "f", "bp": "e", "tid": event.thread, "ts": event.time_range.start}


def _memory(events: EventList) -> Iterator[dict[str, Any]]:
    for r in events.memory:
        if r.time < 0:
            continue
        at = {"name": "[memory]", "tid": r.thread, "ts": r.time}
        args = {
            "Total Reserved": 0, "Total Allocated": r.total, "Bytes": r.nbytes, "Addr": r.allocation.address,
            "Device Id": -1, "Device Type": 0,
        }  # fmt: skip
        yield {**at, "ph": "i", "cat": "cpu_instant_event", "s": "t", "args": args}
        yield {**at, "ph": "C", "name": "memory", "args": {"bytes": r.total}}  # drawn as a curve
