"""Elementwise ops as one kernel each: what NumPy needs several passes for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from .raw import TYPES

_TANH_GELU = """
const T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
const T t = tanh(inner);
"""
_SIGMOID = "const T s = T(1) / (T(1) + exp(-x));"

# By op name: parameters after the type of their values, and the value of `y`; what comes before it ends in a semicolon.
_BODIES: dict[str, tuple[str, str]] = {
    "relu": ("T x", "y = x < T(0) ? T(0) : x"),
    "sigmoid": ("T x", "y = T(1) / (T(1) + exp(-x))"),
    "silu": ("T x", "y = x / (T(1) + exp(-x))"),
    "silu_backward": ("T g, T x", _SIGMOID + "y = g * s * (T(1) + x * (T(1) - s))"),
    "mish": ("T x", "y = x * tanh(log1p(exp(x)))"),
    "mish_backward": (
        "T g, T x", _SIGMOID + "const T t = tanh(log1p(exp(x))); y = g * (t + x * s * (T(1) - t * t))",
    ),
    "threshold_backward": ("T g, T x, float64 threshold", "y = x <= T(threshold) ? T(0) : g"),
    "hardswish": ("T x", "y = x * min(max(x + T(3), T(0)), T(6)) / T(6)"),
    "hardswish_backward": (
        "T g, T x", "y = x <= T(-3) ? T(0) : x < T(3) ? g * (x / T(3) + T(0.5)) : g",
    ),
    "leaky_relu": ("T x, float64 slope", "y = x > T(0) ? x : x * T(slope)"),
    "softplus": (
        "T x, float64 beta, float64 threshold",
        "y = x * T(beta) > T(threshold) ? x : log1p(exp(x * T(beta))) / T(beta)",
    ),
    "erf": ("T x", "y = erf(x)"),
    "erfc": ("T x", "y = erfc(x)"),
    "lerp.Scalar": (
        "T x, T end, float64 w",
        "y = fabs(w) < 0.5 ? x + T(w) * (end - x) : end - (end - x) * (T(1) - T(w))",
    ),
}  # fmt: skip
_GELU = {
    "none": "y = x * T(0.5) * (T(1) + erf(x * T(0.7071067811865476)))",
    "tanh": _TANH_GELU + "y = T(0.5) * x * (T(1) + t)",
}
_GELU_BACKWARD = {
    "none": "const T area = T(0.5) * (T(1) + erf(x * T(0.7071067811865476)));"
    "y = g * (area + x * exp(T(-0.5) * x * x) * T(0.3989422804014327))",
    "tanh": _TANH_GELU + "const T slope = T(0.7978845608028654) * (T(1) + T(0.134145) * x * x);"
    "y = g * T(0.5) * ((T(1) + t) + x * (T(1) - t * t) * slope)",
}


def _kernel(name: str, parameters: str, body: str) -> Callable[..., Any]:
    made = cupy.ElementwiseKernel(parameters, "T y", body, f"torchlite_{name.replace('.', '_')}")

    def call(*operands: Any) -> Any:
        dtype = operands[0].dtype
        for a in operands:
            if a.__class__ is cupy.ndarray:
                if a.dtype is not dtype and a.dtype != dtype:
                    return NotImplemented
            elif a.__class__ not in (int, float):
                return NotImplemented
        return made(*operands) if dtype in TYPES else NotImplemented

    return call


def _by_approximation(name: str, parameters: str, bodies: dict[str, str]) -> Callable[..., Any]:
    made = {how: _kernel(f"{name}_{how}", parameters, body) for how, body in bodies.items()}
    return lambda *operands: made[operands[-1]](*operands[:-1])


KERNELS: dict[str, Callable[..., Any]] = {
    **{name: _kernel(name, *declared) for name, declared in _BODIES.items()},
    "gelu": _by_approximation("gelu", "T x", _GELU),
    "gelu_backward": _by_approximation("gelu_backward", "T g, T x", _GELU_BACKWARD),
}
