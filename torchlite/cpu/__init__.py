"""`torch.cpu`: the CPU as a device among others. There is one, and what it is told it has done when a call returns."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterator
from typing import Any

from ..absent import lacking
from ..core.state import HoldingItems
from ..core.values import DeviceLike

__all__ = [
    "is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream", "set_device",
    "device_count", "Stream", "StreamContext", "Event", "get_capabilities",
]  # fmt: skip

# What PyTorch calls the features that Linux tells of otherwise.
_RENAMED = {
    "abm": "lzcnt", "pni": "sse3", "sha_ni": "sha", "avx512f": "avx512_f", "avx512bw": "avx512_bw",
    "avx512cd": "avx512_cd", "avx512dq": "avx512_dq", "avx512ifma": "avx512_ifma", "avx512vbmi": "avx512_vbmi",
    "avx512vl": "avx512_vl", "fma": "fma3",
}  # fmt: skip


class Stream:
    """Where work would wait its turn."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Does nothing: work on the CPU is done when a call returns."""

    def record_event(self) -> None:
        """An event: there is nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Does nothing: work on the CPU is done when a call returns."""


class Event:
    """A moment between pieces of work."""

    def query(self) -> bool:
        """Whether it is past."""
        return True

    def record(self, stream: Any = None) -> None:
        """Does nothing: work on the CPU is done when a call returns."""

    def synchronize(self) -> None:
        """Does nothing: work on the CPU is done when a call returns."""

    def wait(self, stream: Any = None) -> None:
        """Does nothing: work on the CPU is done when a call returns."""


_stream = Stream()


class StreamContext(HoldingItems):
    """Inside, this is the current stream."""

    def __init__(self, stream: Stream | None) -> None:
        super().__init__(globals(), {} if stream is None else {"_stream": stream})
        self.stream = stream


def stream(stream: Stream) -> StreamContext:
    """A `with` inside which this is the current stream."""
    return StreamContext(stream)


def current_stream(device: DeviceLike = None) -> Stream:
    """The one stream of the CPU."""
    return _stream


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready."""
    return True


def synchronize(device: DeviceLike = None) -> None:
    """Wait until all is done, which it is."""


def device_count() -> int:
    """How many CPUs there are as devices: one."""
    return 1


def current_device() -> str:
    """The name of the CPU as a device."""
    return "cpu"


def set_device(device: DeviceLike) -> None:
    """Nothing: there is one."""


def get_capabilities() -> dict[str, Any]:
    """What the processor can do, as far as the operating system tells."""
    found: dict[str, Any] = {"architecture": platform.machine(), "num_logical_cores": os.cpu_count() or 1}
    for key, value in _cpuinfo():
        if key in ("flags", "Features"):
            found |= {_RENAMED.get(flag, flag): True for flag in value.split()}
        elif key == "model name":
            found["cpu_name"] = value
    return found


def _get_cpu_capability() -> str:
    """The widest instructions that PyTorch would use here."""
    features = get_capabilities()
    for name, needed in (("AVX512", "avx512_f"), ("AVX2", "avx2")):
        if features.get(needed):
            return name
    return "DEFAULT"


def _cpuinfo() -> Iterator[tuple[str, str]]:
    """What Linux says of the first processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if not value:
                    return
                yield key.strip(), value.strip()
    except OSError:
        return


__getattr__ = lacking(__name__, modules=("amp",))


def _has(*features: str) -> bool:
    return get_capabilities().keys() >= set(features)


# What PyTorch's own tests ask.
_is_avx2_supported = functools.partial(_has, "avx2")
_is_avx512_supported = functools.partial(_has, "avx512_f", "avx512_vl", "avx512_bw", "avx512_dq", "fma3")
_is_avx512_bf16_supported = functools.partial(_has, "avx512_bf16")
_is_vnni_supported = functools.partial(_has, "avx512_vnni")
_is_amx_tile_supported = functools.partial(_has, "amx_tile")
_is_amx_fp16_supported = functools.partial(_has, "amx_fp16")
