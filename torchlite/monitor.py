"""`torch.monitor`: events, statistics that are logged as such, and handlers that are told."""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, TypeAlias

from .core.values import bear_name

__all__ = [
    "Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event",
    "register_event_handler", "unregister_event_handler",
]  # fmt: skip

STAT_EVENT = "torch.monitor.Stat"
data_value_t: TypeAlias = str | float | int | bool


class Aggregation(enum.IntEnum):
    """The statistics that a `Stat` can compute of its values."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6

    __str__ = enum.Enum.__str__


globals().update(Aggregation.__members__)

_OF: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.VALUE: lambda values: values[-1] if values else 0.0,
    Aggregation.MEAN: lambda values: sum(values) / len(values) if values else 0.0,
    Aggregation.COUNT: lambda values: float(len(values)),
    Aggregation.SUM: lambda values: float(sum(values)),
    Aggregation.MAX: lambda values: max(values, default=0.0),
    Aggregation.MIN: lambda values: min(values, default=0.0),
}


class Event:
    """Something that happened: its name, when, and what there is to say of it."""

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, data_value_t]) -> None:
        fits = isinstance(name, str) and isinstance(timestamp, datetime) and isinstance(data, Mapping)
        if not fits or not all(isinstance(k, str) and isinstance(v, (str, float, int)) for k, v in data.items()):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. torch._C._monitor.Event(name: str, timestamp: datetime.datetime, "
                f"data: collections.abc.Mapping[str, data_value_t])\n\nInvoked with: {name!r}, {timestamp!r}, {data!r}"
            )
        self.name = name
        self.timestamp = timestamp
        self.data = dict(data)


class EventHandlerHandle:
    """What `register_event_handler` gives, by which the handler can be taken away."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self.handler = handler


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call `callback(event)` for every event that is logged from now on."""
    if not callable(callback):
        raise TypeError(f"register_event_handler(): incompatible function arguments. Invoked with: {callback!r}")
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Take a handler away."""
    with contextlib.suppress(ValueError):
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Tell all handlers of an event."""
    if not isinstance(event, Event):
        raise TypeError(f"log_event(): incompatible function arguments. Invoked with: {event!r}")
    for handle in tuple(_handlers):
        handle.handler(event)


class Stat:
    """Values that are gathered for a window of time, or until there are so many, and logged together as an event.

    One event is logged for a window: once `max_samples` came, what comes until its end is left out.
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: timedelta, max_samples: int = 2**63 - 1
    ) -> None:
        if not isinstance(window_size, timedelta):
            raise TypeError(f"Stat(): window_size must be a datetime.timedelta, not {type(window_size).__name__}")
        self.name = name
        self._aggregations = sorted({Aggregation(a) for a in aggregations})
        self._length = window_size.total_seconds()
        self._limit = max_samples
        self._values: list[float] = []
        self._before: list[float] = []
        self._window = self._now()
        self._logged: int | None = None
        self._lock = Lock()

    def _now(self) -> int:
        return int(time.monotonic() // self._length) if self._length > 0 else time.monotonic_ns()

    def add(self, v: float) -> None:
        """Take a value in, and log if that fills the window, or is the first after its end."""
        value = float(v)
        with self._lock:
            event = self._close()
            if self._logged != self._now():
                self._values.append(value)
                event = self._close() or event
        if event is not None:
            log_event(event)

    def _close(self) -> Event | None:
        """End the window if it is over or full; the event to log, if there were values."""
        window = self._now()
        if (window == self._window and len(self._values) < self._limit) or self._logged == window:
            return None
        self._before, self._values = self._values, []
        self._logged, self._window = self._window, window
        return self._event() if self._before else None

    def _event(self) -> Event:
        data = {f"{self.name}.{a.name.lower()}": value for a, value in self.get().items()}
        return Event(STAT_EVENT, datetime.now(), data)

    @property
    def count(self) -> int:
        """How many values are in the window."""
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """The statistics of the last window that ended."""
        return {a: _OF[a](self._before) for a in self._aggregations}

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            self._before = self._values
            log_event(self._event())


class TensorboardEventHandler:
    """A handler that writes the numbers of statistics with a `SummaryWriter`."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())


for _class in (Aggregation, Event, EventHandlerHandle, Stat):
    bear_name(_class, "torch._C._monitor")
