"""Functions of CuPy's that differ from NumPy's where that matters to PyTorch, as NumPy has them, and some more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy._core import create_ufunc

from ..cupy_bits import in_wide
from . import formulas, losses, maps, places, products

_HALVES = "fV"  # kinds of dtypes: bfloat16 is no type that NumPy knows
_NONE = np.dtype(bool)  # of numbers


class Namespace:
    """CuPy's functions, but for those that are given."""

    def __init__(self, **own: Any) -> None:
        vars(self).update(own)

    def __getattr__(self, name: str) -> Any:
        found = getattr(cupy, name)
        setattr(self, name, found)
        return found


def _for_kinds(kinds: str, own: Any, theirs: Any) -> Callable[..., Any]:
    """`own` where an operand is of one of these kinds, else CuPy's function."""

    def call(*operands: Any, **options: Any) -> Any:
        mine = any([getattr(a, "dtype", _NONE).kind in kinds for a in operands])  # arrays, and what is followed
        return (own if mine else theirs)(*operands, **options)

    return call


# ---- quotients of complex numbers: Thrust's are NaN at zeros and infinities

_QUOTIENT = """
template <typename T> __device__ complex<T> torchlite_quotient(complex<T> a, complex<T> b) {
    const T x = b.real(), y = b.imag();
    if (x == 0 && y == 0) return complex<T>(a.real() / fabs(x), a.imag() / fabs(x));
    if (fabs(x) >= fabs(y)) {
        const T r = y / x, s = T(1) / (x + y * r);
        return complex<T>((a.real() + a.imag() * r) * s, (a.imag() - a.real() * r) * s);
    }
    const T r = x / y, s = T(1) / (y + x * r);
    return complex<T>((a.real() * r + a.imag()) * s, (a.imag() * r - a.real()) * s);
}
"""
_quotient = create_ufunc("torchlite_quotient", ("FF->F", "DD->D"), "out0 = torchlite_quotient(in0, in1)", _QUOTIENT)
_log2 = create_ufunc(
    "torchlite_log2", ("F->F", "D->D"),
    "auto l = log(in0); out0 = out0_type(l.real() / log(2.0), l.imag() / log(2.0))",
)  # fmt: skip

# ---- remainders: CuPy's are `x - floor(x / y) * y`, which loses what is infinite or large

_REMAINDER = """
template <typename T> __device__ T floored_remainder(T x, T y) {
    const T r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
template <typename T> __device__ T floored_quotient(T x, T y) {
    if (y == 0) return x / y;
    const T r = fmod(x, y);
    T whole = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) whole -= 1;
    if (whole == 0) return copysign(T(0), x / y);
    const T low = floor(whole);
    return whole - low > T(0.5) ? low + 1 : low;
}
"""


def _of_floats(name: str) -> Any:
    """A ufunc of two floats; halves are computed in float32."""
    halves = f"out0 = out0_type({name}((float)in0, (float)in1))"
    loops = [("ee->e", halves), "ff->f", "dd->d"]
    if hasattr(cupy, "bfloat16"):
        loops.insert(1, ("EE->E", halves))
    return create_ufunc(name, tuple(loops), f"out0 = {name}(in0, in1)", _REMAINDER)


_remainder, _floor_divide = _of_floats("floored_remainder"), _of_floats("floored_quotient")
_nextafter = create_ufunc(  # CuPy's of an infinite float16 is NaN
    "torchlite_next",
    (("ee->e", "out0 = isinf(in0) && in1 == in1 && in0 != in1 ? float16(copysignf(65504.0f, (float)in0)) "
               ": in0 == in1 ? in1 : nextafter(in0, in1)"), "ff->f", "dd->d"),
    "out0 = nextafter(in0, in1)",
)  # fmt: skip
_fmod = create_ufunc(
    "torchlite_fmod", tuple(f"{c * 2}->{c}" for c in "bBhHiIqQ"),
    "out0 = in1 == 0 || in1 == in0_type(-1) ? in0_type(0) : in0_type(in0 % in1)",
)  # fmt: skip


# ---- bfloat16, which is float32 for some of CuPy's functions, and nothing for those that sort


def _on_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that only moves numbers, and puts zeros, on the bits of those that are no type of NumPy's."""

    def call(array: Any, *options: Any, **named: Any) -> Any:
        if array.dtype.kind != "V":
            return function(array, *options, **named)
        return function(array.view(np.uint16), *options, **named).view(array.dtype)

    return call


def _eye(*sizes: Any, dtype: Any = float, **named: Any) -> Any:
    if np.dtype(dtype).kind == "V":
        return cupy.eye(*sizes, dtype=np.float32, **named).astype(dtype)
    return cupy.eye(*sizes, dtype=dtype, **named)


def _isin(elements: Any, tests: Any, *options: Any, **named: Any) -> Any:
    wide = [a.astype(np.float32) if getattr(a, "dtype", np.dtype(bool)).kind == "V" else a for a in (elements, tests)]
    return cupy.isin(*wide, *options, **named)


def _where(condition: Any, *choices: Any) -> Any:
    dtype = getattr(choices[0], "dtype", None) if choices else None
    if dtype is None or dtype.kind != "V" or getattr(choices[1], "dtype", None) != dtype:
        return cupy.where(condition, *choices)
    return cupy.where(condition, *[a.view(np.uint16) for a in choices]).view(dtype)


# ---- numbers in a row

_whole_numbers = cupy.ElementwiseKernel(
    "int64 start, int64 step", "T y", "y = T(start + i * step)", "torchlite_whole_numbers"
)
_numbers_of_floats = cupy.ElementwiseKernel(
    "float64 start, float64 step", "T y", "y = T(start + i * step)", "torchlite_numbers"
)


def _numbers(start: Any, count: int, step: Any, dtype: Any, whole: bool) -> Any:
    """Numbers from `start` on, made where they are wanted."""
    made = cupy.empty(count, np.float64 if dtype.itemsize < 4 and not whole else dtype)
    (_whole_numbers if whole else _numbers_of_floats)(start, step, made)
    return made.astype(dtype, copy=False)


xp = Namespace(
    divide=_for_kinds("c", _quotient, cupy.divide),
    true_divide=_for_kinds("c", _quotient, cupy.true_divide),
    conjugate=in_wide(cupy.conjugate),
    negative=in_wide(cupy.negative),
    log2=_for_kinds("c", _log2, cupy.log2),
    remainder=_for_kinds(_HALVES, _remainder, cupy.remainder),
    floor_divide=_for_kinds(_HALVES, _floor_divide, cupy.floor_divide),
    fmod=_for_kinds("iu", _fmod, cupy.fmod),
    nextafter=_for_kinds("f", _nextafter, cupy.nextafter),
    tril=_on_bits(cupy.tril),
    triu=_on_bits(cupy.triu),
    eye=_eye,
    isin=_isin,
    where=_where,
    accumulate=places.accumulate,
    check_probabilities=losses.check_probabilities,
    check_range=places.check_range,
    combine=places.combine,
    index_add=places.index_add,
    put_in_images=places.put_in_images,
    scatter=places.scatter,
    scatter_add=places.scatter_add,
    map_stored=maps.map_stored,
    numbers=_numbers,
    norm_of_all=formulas.norm_of_all,
    scale_all=formulas.scale_all,
    clip_all=formulas.clip_all,
    dot=products.dot,
    matmul=products.matmul,
    product=products.product,
    unrounded=products.unrounded,
)
