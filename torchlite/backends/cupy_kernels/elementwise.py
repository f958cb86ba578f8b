"""Elementwise ops whose kernels over NumPy are no guide: CUDA has such functions, or they look at what they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from .raw import STORED, TYPES

_TANH_GELU = """
const T inner = T(0.7978845608028654) * (x + T(0.044715) * x * x * x);
const T t = tanh(inner);
"""

# By op name: parameters after the type of their values, and the value of `y`; what comes before it ends in a semicolon.
_BODIES: dict[str, tuple[str, str]] = {
    "threshold_backward": ("T g, T x, float64 threshold", "y = x <= T(threshold) ? T(0) : g"),
    "leaky_relu": ("T x, float64 slope", "y = x > T(0) ? x : x * T(slope)"),
    "native_dropout": ("T x, bool mask, float64 scale", "y = x * T(mask) * T(scale)"),
    "relu": ("T x", "y = x < T(0) ? T(0) : x"),
    "erf": ("T x", "y = erf(x)"),
    "erfc": ("T x", "y = erfc(x)"),
}
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


def _of_halves(name: str, parameters: str, body: str) -> Any:
    """The same kernel for numbers that are stored as halves, and computed with as floats."""
    taken = [parameter.split() for parameter in parameters.split(", ")]
    stored = ", ".join([f"S {n}_" if t == "T" else f"{t} {n}" for t, n in taken])
    widened = " ".join([f"const T {n} = T({n}_);" for t, n in taken if t == "T"])
    return cupy.ElementwiseKernel(
        stored, "S y_", f"typedef float T; {widened} T y; {body}; y_ = S(y)", f"torchlite_{name}_of_halves"
    )


def _kernel(name: str, parameters: str, body: str) -> Callable[..., Any]:
    name = name.replace(".", "_")
    made = cupy.ElementwiseKernel(parameters, "T y", body, f"torchlite_{name}")
    halves = _of_halves(name, parameters, body)
    masked = "bool mask" in parameters

    def call(*operands: Any) -> Any:
        dtype = operands[0].dtype
        for a in operands:
            if a.__class__ is cupy.ndarray:
                if a.dtype is not dtype and a.dtype != dtype and not (masked and a.dtype.kind == "b"):
                    return NotImplemented
            elif a.__class__ not in (int, float):
                return NotImplemented
        if dtype in TYPES:
            return made(*operands)
        return halves(*operands) if dtype in STORED else NotImplemented

    return call


def _by_approximation(name: str, parameters: str, bodies: dict[str, str]) -> Callable[..., Any]:
    made = {how: _kernel(f"{name}_{how}", parameters, body) for how, body in bodies.items()}
    return lambda *operands: made[operands[-1]](*operands[:-1])


KERNELS: dict[str, Callable[..., Any]] = {
    **{name: _kernel(name, *declared) for name, declared in _BODIES.items()},
    "gelu": _by_approximation("gelu", "T x", _GELU),
    "gelu_backward": _by_approximation("gelu_backward", "T g, T x", _GELU_BACKWARD),
}
