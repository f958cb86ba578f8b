"""Inputs on which formulas lose digits, overflow, underflow or divide by zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from ..parity.neutral import Input, Name, Sequence, numpy_dtype
from ..parity.operation import Case

_EXACT = {"complex64": "complex128"}  # what else is inexact becomes float64
_SHIFTS = {"float16": 1e3, "bfloat16": 1e4, "float32": 1e6}


def _scaled(size: Callable[[Any], float]) -> Callable[[np.ndarray, Any], np.ndarray]:
    """Values whose largest has a certain size."""
    return lambda values, info: values * (size(info) / max(np.abs(values).max(initial=0), 1e-30))


def _with(special: float) -> Callable[[np.ndarray, Any], np.ndarray]:
    """One value in three replaced."""
    return lambda values, info: np.where(np.arange(values.size) % 3 == 1, special, values)


def _cancelling(values: np.ndarray, info: Any) -> np.ndarray:
    half = (values.size + 1) // 2
    return np.concatenate([values[:half], -values[:half] * (1 + 4 * float(info.eps))])[: values.size]


# How values become hostile, given the limits of their dtype.
CHANGES: dict[str, Callable[[np.ndarray, Any], np.ndarray]] = {
    "as they are": lambda values, info: values,
    "around a large mean": lambda values, info: values + _SHIFTS[info.dtype.name],
    "with squares that overflow": _scaled(lambda info: 4 * float(info.max) ** 0.5),
    "near overflow": _scaled(lambda info: float(info.max) / 4),
    "with squares that vanish": _scaled(lambda info: float(info.tiny) ** 0.5 / 4),
    "denormal": _scaled(lambda info: 4 * float(info.tiny)),
    "of all sizes": lambda values, info: values * 10.0 ** np.linspace(-3, 3, values.size),
    "cancelling": _cancelling,
    "constant": lambda values, info: np.full(values.shape, 3.3),
    "zeros": lambda values, info: np.zeros(values.shape),
    "with zeros": _with(0.0),
    "with -0": _with(-0.0),
    "with inf": _with(np.inf),
    "with -inf": _with(-np.inf),
    "with NaN": _with(np.nan),
}


def changed(case: Case, change: str) -> Case:
    """The case with its real inputs made hostile, rounded to their dtype."""

    def change_input(spec: Input) -> Input:
        if spec.dtype not in _SHIFTS:
            return spec
        with np.errstate(all="ignore"):
            values = CHANGES[change](spec.storage.astype(np.float64), ml_dtypes.finfo(numpy_dtype(spec.dtype)))
            return replace(spec, storage=values.astype(spec.storage.dtype))

    return _mapped(case, change_input, lambda name: name)


def exact(case: Case) -> Case:
    """The same numbers in double precision."""

    def widen_input(spec: Input) -> Input:
        wide = _EXACT.get(spec.dtype, "float64" if spec.dtype in _SHIFTS else spec.dtype)
        return replace(spec, dtype=wide, storage=spec.storage.astype(wide)) if wide != spec.dtype else spec

    def widen_name(name: Name) -> Name:
        return Name("torch.float64") if name.path.removeprefix("torch.") in _SHIFTS else name

    return _mapped(case, widen_input, widen_name)


def _mapped(case: Case, of_input: Callable[[Input], Input], of_name: Callable[[Name], Name]) -> Case:
    made: dict[int, Input] = {}

    def walk(node: Any) -> Any:
        match node:
            case Input():
                if id(node) not in made:
                    made[id(node)] = of_input(node)
                return made[id(node)]
            case Name():
                return of_name(node)
            case Sequence():
                return replace(node, items=tuple(map(walk, node.items)))
            case dict():
                return {key: walk(item) for key, item in node.items()}
        return node

    return replace(case, arguments=walk(case.arguments), keywords=walk(case.keywords))
