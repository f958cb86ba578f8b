"""What the tables of raw kernels share: templates over float and double, compiled when they are first launched."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}

# NVRTC has no <cmath>.
_HEADER = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
"""


class Templates:
    """CUDA C++ with kernels that are templates over the type of numbers, and then over what is given as `more`."""

    def __init__(self, source: str, names: Sequence[tuple[str, str]]) -> None:
        self.source = _HEADER + source
        self.expressions = tuple([f"{name}<{t}{more}>" for t in TYPES.values() for name, more in names])

    @functools.cached_property
    def module(self) -> Any:
        return cupy.RawModule(code=self.source, options=("-std=c++14",), name_expressions=self.expressions)

    def launch(
        self, name: str, dtype: Any, blocks: int, threads: tuple[int, ...], given: Any, more: str = "",
        shared: int = 0,
    ) -> None:  # fmt: skip
        """Launch a kernel; arrays that are None are null, and Python's ints are of 64 bits."""
        arguments = tuple([_NULL if a is None else a for a in given])
        self.module.get_function(f"{name}<{TYPES[dtype]}{more}>")((blocks,), threads, arguments, shared_mem=shared)


_NULL = np.intp(0)


def rows_of_one_type(first: Any, *others: Any) -> bool:
    """Whether arrays (or None) lie row by row, not empty, and are of one type that there are kernels for."""
    return (
        first.dtype in TYPES
        and first.size > 0
        and first.flags.c_contiguous
        and all([a is None or (a.dtype == first.dtype and a.flags.c_contiguous) for a in others])
    )
