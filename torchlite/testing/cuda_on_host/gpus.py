"""Kernels as the compiler of GPUs takes them: NVRTC needs no GPU (`pip install nvidia-cuda-nvrtc-cu12`).

It refuses what g++ forgives, and what a GPU has no room for, such as shared memory.
"""

from __future__ import annotations

import functools
import re

from .kernels import Source

ARCHITECTURES = ("70", "75", "80", "86", "89", "90", "100")
_NAMES = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)")


@functools.cache
def architectures() -> tuple[str, ...]:
    """The compute capabilities that the NVRTC of this environment compiles for; none where there is no NVRTC."""
    from cupy_backends.cuda.libs import nvrtc

    try:
        major, _ = nvrtc.getVersion()
    except (OSError, RuntimeError):
        return ()
    return ARCHITECTURES if major < 13 else ARCHITECTURES[1:]


def is_cupys(source: Source) -> bool:
    """Whether all kernels of a source are CuPy's own."""
    return all([name.startswith("cupy") for name in _NAMES.findall(source.text)])


def binary(source: Source, architecture: str) -> bytes:
    """What CuPy would load on a GPU of this architecture; raises CuPy's `CompileException`."""
    from cupy.cuda import compiler

    options = (*source.options, "-ftz=true")  # as CuPy adds
    made, _ = compiler._compile_using_nvrtc_no_warning(
        source.text, options, architecture, name_expressions=source.names or None, cache_in_memory=True
    )
    return bytes(made)
