"""`torch.Stream` and `torch.Event`: the order of work on a device. The CPU's is done when a call returns."""

from __future__ import annotations

from typing import Any

from .core.declare import Signature
from .core.values import CPU, DeviceLike, shown_in
from .core.values.device import device as Device

__all__ = ["Event", "Stream", "get_device_module"]


def get_device_module(device: DeviceLike = None) -> Any:
    """The module of a type of device: `torch.cpu`, `torch.cuda`."""
    from . import cpu, cuda, mps, xpu

    if device is not None and not isinstance(device, (str, Device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = ("cuda" if cuda.is_available() else "cpu") if device is None else Device(device).type
    found = {"cpu": cpu, "cuda": cuda, "mps": mps, "xpu": xpu}.get(kind)
    if found is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return found


_STREAM = Signature("Stream(Device? device=None, *, int priority=0)")
_EVENT = Signature(
    "Event(Device? device=None, *, bool enable_timing=False, bool blocking=False, bool interprocess=False)"
)


@shown_in("torch")
class Stream:
    """Where the work of a device waits its turn."""

    device: Device
    stream_id = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Stream:
        device, priority = _STREAM.bind(args, kwargs)
        place = device or CPU
        if cls is Stream and place.type == "cuda":
            return get_device_module(place).Stream(place, priority)
        made = super().__new__(cls)
        made.device = place
        return made

    @property
    def device_index(self) -> int:
        """The number of the stream's device."""
        return -1 if self.device.index is None else self.device.index

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def synchronize(self) -> None:
        """Wait until all is done."""

    def wait_stream(self, stream: Stream) -> None:
        """Do what comes next only when another stream has done what it was told."""

    def wait_event(self, event: Event) -> None:
        """Do what comes next only after a moment in another stream."""

    def record_event(self, event: Event | None = None) -> Event:
        """The moment when all that was told so far is done."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


@shown_in("torch")
class Event:
    """A moment in a stream."""

    device: Device

    def __new__(cls, *args: Any, **kwargs: Any) -> Event:
        device, enable_timing, blocking, interprocess = _EVENT.bind(args, kwargs)
        place = device or CPU
        if cls is Event and place.type == "cuda":
            return get_device_module(place).Event(enable_timing, blocking, interprocess)
        made = super().__new__(cls)
        made.device = place
        return made

    def record(self, stream: Stream | None = None) -> None:
        """Let this be the moment when all that was told so far is done."""

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for it."""

    def query(self) -> bool:
        """Whether it is past."""
        return True

    def synchronize(self) -> None:
        """Wait for it."""

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds until another."""
        raise NotImplementedError("torchlite measures time between the events of CUDA devices only")

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag=0, event_id=0"
