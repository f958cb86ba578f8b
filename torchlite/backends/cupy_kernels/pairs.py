"""Losses of pairs and their gradients, in one launch: their formulas are run on symbols, and reduced where they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from .formulas import NAMESPACE, Symbol
from .raw import STORED, TYPES

_MEAN, _SUM = 1, 2  # reductions
_MOST = 64  # kernels: numbers in formulas are known when they are compiled


def _each(formula: Callable[..., Any], operands: Sequence[Any], real: str) -> tuple[list[str], str]:
    """What a formula comes to, as a function of the arrays among its operands: their names, and CUDA C++."""
    lines: list[str] = []
    names = [f"x{i}" for i, o in enumerate(operands) if o is _ARRAY]
    result = formula(NAMESPACE, *[Symbol(lines, f"x{i}") if o is _ARRAY else o for i, o in enumerate(operands)])
    body = "\n    ".join([*lines, f"return {result.name};"])
    taken = ", ".join([f"T {name}" for name in names])
    return names, f"typedef {real} T;\n__device__ T torchlite_each({taken}) {{\n    {body}\n}}\n"


_ARRAY = object()  # among the operands of a formula


@functools.lru_cache(_MOST)
def _compiled(formula: Callable[..., Any], operands: tuple[Any, ...], dtype: np.dtype, how: int | None) -> Any:
    """The kernel for a formula, or None where it can't be followed; `how` it is reduced, None for a gradient."""
    try:
        names, source = _each(formula, operands, TYPES.get(dtype, "float"))
    except (TypeError, AttributeError):
        return None
    value = f"torchlite_each({', '.join([f'T({name})' for name in names])})"
    given = ", ".join([f"S {name}" for name in names])
    if how in (_MEAN, _SUM):
        result = "a / T(_in_ind.size())" if how == _MEAN else "a"
        return cupy.ReductionKernel(
            given, "S y", value, "a + b", f"y = S({result})", "0", "torchlite_loss", "T", preamble=_HEADER + source
        )
    more, factor = ("", "") if how is not None else (", S g, float64 share", " * (T(g) * T(share))")
    return cupy.ElementwiseKernel(
        given + more, "S y", f"y = S({value}{factor})", "torchlite_losses", preamble=_HEADER + source
    )


_HEADER = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
"""


def of_pairs(parts: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op that says of what `parts` it is made."""

    def kernel(*values: Any) -> Any:
        formula, given, how, by = parts(*values)
        arrays = [a for a in given if a.__class__ is cupy.ndarray]
        dtype = arrays[0].dtype
        if dtype not in STORED or not all([a.dtype == dtype and a.size and a.flags.c_contiguous for a in arrays]):
            return NotImplemented
        operands = tuple([_ARRAY if a.__class__ is cupy.ndarray else a for a in given])
        found = _compiled(formula, operands, dtype, how)
        if found is None or (by and by[0].dtype != dtype):
            return NotImplemented
        return found(*arrays, *by)

    return kernel
