"""`torch.cuda`'s streams and events, which are CuPy's."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from typing import Any

from .. import streams
from ..core.values import DeviceLike, shown_in
from ..core.values.device import device as Device
from ..core.values.pickling import live_here
from . import _index, _needed, current_device, is_available
from .unsupported import lacking_function

__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream",
    "get_stream_from_external", "set_stream", "stream",
]  # fmt: skip


@shown_in("torch.cuda.streams")
class Stream(streams.Stream):
    """Where the work of a CUDA device waits its turn."""

    inner: Any  # CuPy's

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **_: Any) -> Stream:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        index = _index(device)
        with _needed().Device(index):
            return cls._over(_needed().Stream(non_blocking=True, priority=priority), index)

    @classmethod
    def _over(cls, inner: Any, index: int) -> Stream:
        made = object.__new__(cls)
        made.device, made.inner = Device("cuda", index), inner
        return made

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's own stream."""
        return int(self.inner.ptr)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol by which other libraries take a stream, and its address."""
        return 0, self.cuda_stream

    def query(self) -> bool:
        return bool(self.inner.done)

    def synchronize(self) -> None:
        self.inner.synchronize()

    def wait_stream(self, stream: streams.Stream) -> None:
        self.wait_event(stream.record_event())

    def wait_event(self, event: Any) -> None:
        self.inner.wait_event(event.inner)

    def record_event(self, event: Any = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        self.inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.inner.__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


@shown_in("torch.cuda.streams")
class ExternalStream(Stream):
    """A stream that was made elsewhere, by its address."""

    def __new__(cls, stream_ptr: int, device: DeviceLike = None, **_: Any) -> ExternalStream:
        return cls._over(_needed().ExternalStream(stream_ptr), _index(device))  # type: ignore[return-value]


@shown_in("torch.cuda.streams")
class Event(streams.Event):
    """A moment in a stream of a CUDA device."""

    inner: Any  # CuPy's

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> Event:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        made = object.__new__(cls)
        made.device = Device("cuda", current_device())
        made.inner = _needed().Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        return made

    def record(self, stream: Any = None) -> None:
        self.inner.record(None if stream is None else stream.inner)

    def wait(self, stream: Any = None) -> None:
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        return bool(self.inner.done)

    def synchronize(self) -> None:
        self.inner.synchronize()

    def elapsed_time(self, end_event: Any) -> float:
        return float(_needed().get_elapsed_time(self.inner, end_event.inner))

    @property
    def cuda_event(self) -> int:
        """The address of CUDA's own event."""
        return int(self.inner.ptr)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_event)

    def ipc_handle(self) -> bytes:
        """What another process finds this event by."""
        return bytes(_needed().runtime.ipcGetEventHandle(self.cuda_event))

    from_ipc_handle: Any = classmethod(
        lacking_function("Event.from_ipc_handle", "CuPy wraps no event of another process")
    )


@shown_in("torch.cuda")
class StreamContext(AbstractContextManager[None]):
    """Inside, this is the current stream; nothing changes for None."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """A `with` inside which this is the current stream."""
    return StreamContext(stream)


def current_stream(device: DeviceLike = None) -> Stream:
    """The stream that work is told to now."""
    return Stream._over(_needed().get_current_stream(_index(device)), _index(device))


def default_stream(device: DeviceLike = None) -> Stream:
    """The stream that work is told to if nothing is said."""
    return Stream._over(_needed().Stream.null, _index(device))


def set_stream(stream: Stream | None) -> None:
    """From now on, this is the current stream."""
    if stream is not None:
        stream.inner.use()


def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> Stream:
    """A stream that was made elsewhere, by its address."""
    return ExternalStream(data_ptr, device)


live_here({**globals(), "__name__": __package__})
