"""CuPy without a GPU: its unmodified wheel, on a device that is this process.

    python -m torchlite.testing.cuda_on_host -m pytest …        or a script, with its arguments

or `enable()` before anything imports CuPy. What CuPy calls is replaced from below: the runtime's functions, which its
modules find in each other's tables of C functions; the driver, cuBLAS and NCCL, libraries that it looks for by name;
and the compiler, for which g++ makes a host function of each kernel. Thrust, cuSOLVER and cuFFT, which come as code
for GPUs, give way to NumPy, and are not tried by this. Whatever else would need a GPU is refused by name.

It shows that every call exists and is taken, that kernels compile, what they compute, and how often the device is
launched, copied to and waited for. It does not show speed, races, several devices, or how CUDA's libraries round.

It needs Linux, g++, CuPy's wheel for CUDA 12 or 13 and CUDA's headers (`pip install nvidia-cuda-runtime-cu12`, for
CUDA 13 `nvidia-cuda-runtime`, or a toolkit). Kernels are compiled once, and kept in a folder (`build.cache`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Counts", "counted", "counts", "enable", "is_enabled", "missing"]

_library: Any = None  # the driver's stand-in, once there is one


class Counts(NamedTuple):
    """What a device was asked to do, in the order of `device.h`."""

    kernels: int
    library_calls: int  # products by cuBLAS, sorts by Thrust
    to_device: int  # copies from the host
    to_host: int
    on_device: int
    fills: int
    waits: int
    allocations: int

    @property
    def launches(self) -> int:
        """All that is told to the device but copies."""
        return self.kernels + self.library_calls + self.fills


def is_enabled() -> bool:
    return _library is not None


def missing() -> str | None:
    """What is missing for it here; None if nothing is."""
    from . import build

    return build.missing()


def enable(memory: int = 4 << 30) -> None:
    """Make `cuda` a device of this process, with so many bytes of memory."""
    global _library
    if _library is not None:
        return
    if "cupy" in sys.modules:
        raise RuntimeError("CUDA on the host has to be enabled before CuPy is imported")
    lacking = missing()
    if lacking is not None:
        raise RuntimeError(f"CUDA on the host needs {lacking}")
    from . import runtime

    _library = runtime.install(memory)
    from . import kernels, libraries  # these import CuPy

    kernels.install()
    libraries.install(_library)


def counts() -> Counts:
    """What was asked for so far."""
    from . import runtime

    return Counts(*runtime.counts(_library, len(Counts._fields)))


class Tally:
    """What was asked for within a `counted()`; `kernels` are the names of those launched."""

    counts: Counts
    kernels: list[str]


@contextlib.contextmanager
def counted() -> Iterator[Tally]:
    """Count what the device is asked for inside."""
    from . import runtime

    tally = Tally()
    before = counts()
    with runtime.traced(_library) as names:
        yield tally
    tally.counts = Counts(*[now - then for now, then in zip(counts(), before)])
    tally.kernels = names
