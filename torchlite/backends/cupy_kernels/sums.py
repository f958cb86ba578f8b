"""Sums and means in one launch: of halves as they lie, in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from .raw import STORED, TYPES


def _reduction(name: str, result: str, summed: str) -> Any:
    return cupy.ReductionKernel(
        "S x", "S y", f"({summed})x", "a + b", f"y = S({result})", "0", f"torchlite_{name}_in_{summed}", summed
    )


def _kernels(name: str, result: str) -> dict[Any, Any]:
    made = {summed: _reduction(name, result, summed) for summed in TYPES.values()}
    return {dtype: made[TYPES.get(dtype, "float")] for dtype in STORED}


_sums = _kernels("sum", "a")
_means = _kernels("mean", "a / (decltype(a))(_in_ind.size() / _out_ind.size())")


def _kernel(kernels: dict[Any, Any], types: Any) -> Callable[..., Any]:
    def reduce(array: Any, axis: Any, keepdims: bool, *_: Any) -> Any:
        if array.dtype not in types or not array.size:
            return NotImplemented
        return kernels[array.dtype](array, axis=axis, keepdims=keepdims)

    return reduce


sum_of_halves, _mean = _kernel(_sums, STORED.keys() - TYPES), _kernel(_means, STORED)


def total(array: Any, axis: Any, keepdims: bool = False) -> Any:
    """The sum along an axis, in one launch."""
    return _sums[array.dtype](array, axis=axis, keepdims=keepdims)


KERNELS = {"sum": sum_of_halves, "sum.dim_IntList": sum_of_halves, "mean": _mean, "mean.dim": _mean}
