"""What the tables of raw kernels share: templates over types of numbers, compiled when they are first launched.

`S` is the type that numbers are stored as, and `T` the one that they are computed in: for halves, float.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import cupy
import numpy as np

from ...core.values import dt

TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
STORED = TYPES | {dt.float16.numpy: "stored_half", dt.bfloat16.numpy: "stored_bfloat16"}


def summed(dtype: Any) -> Any:
    """The type that sums of such numbers are of."""
    return dtype if dtype in TYPES else np.dtype(np.float32)


# NVRTC has no <cmath>.
_HEADER = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#define SUM(S) typename Sum<S>::type
template <typename S> struct Sum { typedef S type; };
"""
_HALVES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define STORED(NAME, BITS, WIDEN, NARROW) \\
    struct NAME { \\
        BITS bits; \\
        __device__ operator float() const { return WIDEN(bits); } \\
        __device__ NAME& operator=(float x) { bits = NARROW(x); return *this; } \\
    }; \\
    template <> struct Sum<NAME> { typedef float type; };
STORED(stored_half, __half, __half2float, __float2half)
STORED(stored_bfloat16, __nv_bfloat16, __bfloat162float, __float2bfloat16)
"""


def header(dtype: Any) -> str:
    """What comes before kernels for numbers stored as this."""
    return _HEADER if dtype in TYPES else _HEADER + _HALVES


# The same for elementwise kernels.
SUMS = """
template <typename S> struct torchlite_sum { typedef float type; };
template <> struct torchlite_sum<double> { typedef double type; };
"""


class Templates:
    """CUDA C++ with kernels that are templates over the type of numbers, and then over what is given as `more`."""

    def __init__(self, source: str, names: Sequence[tuple[str, str]], types: Iterable[Any] = STORED) -> None:
        self.source, self.names, self.types = source, names, types
        self.modules: dict[Any, Any] = {}  # by dtype

    def module(self, dtype: Any) -> Any:
        """The kernels for numbers stored as this."""
        found = self.modules.get(dtype)
        if found is None:
            expressions = [f"{name}<{STORED[dtype]}{more}>" for name, more in self.names]
            found = self.modules[dtype] = cupy.RawModule(
                code=header(dtype) + self.source, options=("-std=c++14",), name_expressions=expressions
            )
        return found

    def launch(
        self, name: str, dtype: Any, blocks: int, threads: tuple[int, ...], given: Any, more: str = "",
        shared: int = 0,
    ) -> None:  # fmt: skip
        """Launch a kernel; arrays that are None are null, and Python's ints are of 64 bits."""
        arguments = tuple([_NULL if a is None else a for a in given])
        kernel = self.module(dtype).get_function(f"{name}<{STORED[dtype]}{more}>")
        kernel((blocks,), threads, arguments, shared_mem=shared)


_NULL = np.intp(0)


def rows_of_one_type(first: Any, *others: Any, types: Any = STORED) -> bool:
    """Whether arrays (or None) lie row by row, not empty, and are of one type that there are kernels for."""
    return (
        first.dtype in types
        and first.size > 0
        and first.flags.c_contiguous
        and all([a is None or (a.dtype == first.dtype and a.flags.c_contiguous) for a in others])
    )
