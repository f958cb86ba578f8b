"""What kernels find wrong: they leave it in memory of the host, which is read at the next wait for the device.

So nobody waits for an index to be checked. As on any GPU, the error then comes later than the call that it is about.
"""

from __future__ import annotations

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
TARGET, INDEX, PROBABILITY = 1, 2, 3
_SAID = {
    TARGET: "Target {} is out of bounds.", INDEX: "index {} is out of range",
    PROBABILITY: "Expected probabilities between 0 and 1.",
}  # fmt: skip

_memory = cupy.cuda.alloc_pinned_memory(16)
_found = np.frombuffer(_memory, np.int64, 2)
_found[:] = 0
places = np.intp(_memory.ptr)  # which the device writes to as it does to its own memory


def check() -> None:
    """Raise what kernels found; the device has been waited for."""
    kind = int(_found[0])
    if kind:
        _found[0] = 0
        raise AcceleratorError(f"CUDA error: device-side assert triggered\n{_SAID[kind].format(_found[1])}")
