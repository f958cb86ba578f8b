"""Reductions in one launch, along any dimensions: of halves as they lie, in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy

from .raw import STORED, TYPES


class _Law(NamedTuple):
    """How elements become one, in CUDA C++, where `T` is the type that is computed in."""

    part: str  # what an element counts for
    join: str  # what two parts, `a` and `b`, are together
    result: str = "a"  # what all parts come to
    neutral: str = "0"  # what changes nothing
    type: str = "T"  # of parts
    given: str = ""  # numbers that it takes


_LARGER, _SMALLER = (f"a != a || a {sign} b ? a : b" for sign in "><")
_X = "T(x)"
_MOMENTS = "Moments(T(x))", "a.with(b)"
_LAWS = {
    "sum": _Law(_X, "a + b"),
    "mean": _Law(_X, "a + b", "a / T(_in_ind.size() / _out_ind.size())"),
    "prod": _Law(_X, "a * b", neutral="1"),
    "amax": _Law(_X, _LARGER, neutral="-INFINITY"),
    "amin": _Law(_X, _SMALLER, neutral="INFINITY"),
    "norm_0": _Law("T(x) != 0", "a + b"),
    "norm_1": _Law("fabs(T(x))", "a + b"),
    "norm_2": _Law("T(x) * T(x)", "a + b", "sqrt(a)"),
    "norm_inf": _Law("fabs(T(x))", _LARGER),
    "norm_-inf": _Law("fabs(T(x))", _SMALLER, neutral="INFINITY"),
    "logsumexp": _Law("Exponentials(T(x))", "a.with(b)", "a.most + log(a.sum)", "Exponentials()", "Exponentials"),
    "var": _Law(*_MOMENTS, "a.squares / T(freedom)", "Moments()", "Moments", "float64 freedom"),
    "std": _Law(*_MOMENTS, "sqrt(a.squares / T(freedom))", "Moments()", "Moments", "float64 freedom"),
    "mean_of_moments": _Law(*_MOMENTS, "a.mean", "Moments()", "Moments"),
}
_PARTS = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
typedef %s T;
// The sum of exponentials of numbers less the largest of them.
struct Exponentials {
    T most, sum;
    __device__ Exponentials() : most(-INFINITY), sum(0) {}
    __device__ Exponentials(T v) : most(v), sum(1) {}
    __device__ Exponentials with(const Exponentials& other) const {
        if (other.most > most) return other.with(*this);
        Exponentials made(*this);
        made.sum += other.most == most ? other.sum : other.sum * exp(other.most - most);
        return made;
    }
};
// So many numbers, their mean, and the sum of squares of what they are more.
struct Moments {
    T count, mean, squares;
    __device__ Moments() : count(0), mean(0), squares(0) {}
    __device__ Moments(T v) : count(1), mean(v), squares(v - v) {}
    __device__ Moments with(const Moments& other) const {
        if (other.count == 0) return *this;
        Moments made(other);
        const T part = other.count / (count + other.count), apart = other.mean - mean;
        made.count = count + other.count;
        made.mean = mean + apart * part;
        made.squares = squares + other.squares + apart * apart * count * part;
        return count == 0 ? other : made;
    }
};
"""


def _kernels(name: str) -> dict[Any, Any]:
    """The kernel of a law by the type of the elements."""
    law = _LAWS[name]
    made = {
        t: cupy.ReductionKernel(
            f"S x{', ' if law.given else ''}{law.given}", "S y", law.part, law.join, f"y = S(T({law.result}))",
            law.neutral, f"torchlite_{name.replace('-', 'minus_')}_in_{t}", t if law.type == "T" else law.type,
            preamble=_PARTS % t,
        )
        for t in TYPES.values()
    }  # fmt: skip
    return {dtype: made[TYPES.get(dtype, "float")] for dtype in STORED}


_MADE: dict[str, dict[Any, Any]] = {name: _kernels(name) for name in _LAWS}


def reduced(name: str, array: Any, axis: Any, keepdims: bool = False, *numbers: float) -> Any:
    """The array reduced by a law, in one launch, or NotImplemented."""
    if array.dtype not in STORED or not array.size:
        return NotImplemented
    return _MADE[name][array.dtype](array, *numbers, axis=axis, keepdims=keepdims)


def total(array: Any, axis: Any, keepdims: bool = False) -> Any:
    """The sum along an axis, in one launch."""
    return _MADE["sum"][array.dtype](array, axis=axis, keepdims=keepdims)


def sum_of_halves(array: Any, axis: Any, keepdims: bool, *_: Any) -> Any:
    return NotImplemented if array.dtype in TYPES else reduced("sum", array, axis, keepdims)


def _by(name: str) -> Callable[..., Any]:
    return lambda array, axis, keepdims, *_: reduced(name, array, axis, keepdims)


def _count(array: Any, axis: Any) -> int:
    """How many elements become one."""
    axes = range(array.ndim) if axis is None else (axis,) if axis.__class__ is int else axis
    return math.prod([array.shape[a] for a in axes])


def _norm(array: Any, axis: Any, keepdims: bool, ord: float | None) -> Any:
    if ord != 0 and _count(array, axis) == 1:
        ord = 1  # which does not overflow
    name = f"norm_{2.0 if ord is None else ord:g}"
    return reduced(name, array, axis, keepdims) if name in _LAWS else NotImplemented


def _moments(name: str) -> Callable[..., Any]:
    law, _, with_mean = name.partition("_")

    def kernel(array: Any, axis: Any, keepdims: bool, correction: float | None) -> Any:
        freedom = _count(array, axis) - (1 if correction is None else correction)
        if array.dtype not in STORED or freedom <= 0:
            return NotImplemented
        made = reduced(law, array, axis, keepdims, float(freedom))
        return (made, reduced("mean_of_moments", array, axis, keepdims)) if with_mean else made

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("sum", "sum.dim_IntList"), sum_of_halves),
    **dict.fromkeys(("mean", "mean.dim"), _by("mean")),
    **dict.fromkeys(("prod", "prod.dim_int"), _by("prod")),
    **dict.fromkeys(("amax", "max"), _by("amax")),
    **dict.fromkeys(("amin", "min"), _by("amin")),
    **dict.fromkeys(("linalg_vector_norm", "norm", "norm.ScalarOpt_dim"), _norm),
    **{f"{name}.correction": _moments(name) for name in ("var", "std", "var_mean", "std_mean")},
    "logsumexp": _by("logsumexp"),
}
