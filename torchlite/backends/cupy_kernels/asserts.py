"""What kernels find wrong: they leave it in memory of the host, which is read at the next wait for the device.

So nobody waits for an index to be checked. As on any GPU, the error then comes later than the call that it is about.
"""

from __future__ import annotations

import functools
from typing import Any

import cupy
import numpy as np

from ...exceptions import AcceleratorError

# In CUDA C++: `wrong(found, kind, value)`, where `found` is the kernel's argument for `places`.
SOURCE = """
__device__ void wrong(long long* found, int kind, long long value) {
    found[1] = value;
    __threadfence_system();
    found[0] = kind;
}
"""
TARGET, INDEX, PROBABILITY, OFFSET = 1, 2, 3, 4
_SAID = {
    TARGET: "Target {} is out of bounds.", INDEX: "index {} is out of range",
    PROBABILITY: "Expected probabilities between 0 and 1.", OFFSET: "A bag begins at {}, which is not its place.",
}  # fmt: skip


@functools.cache
def _pinned() -> tuple[Any, np.ndarray]:
    """Memory of the host which the device writes to as it does to its own, and the numbers in it."""
    memory = cupy.cuda.alloc_pinned_memory(16)
    found = np.frombuffer(memory, np.int64, 2)
    found[:] = 0
    return memory, found


def places() -> np.intp:
    """Where kernels write to."""
    return np.intp(_pinned()[0].ptr)


def check() -> None:
    """Raise what kernels found; the device has been waited for."""
    _, found = _pinned()
    kind = int(found[0])
    if kind:
        found[0] = 0
        raise AcceleratorError(f"CUDA error: device-side assert triggered\n{_SAID[kind].format(found[1])}")
