"""The differences between what two libraries did, as neutral data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .neutral import Array, Raised, Sequence

# Relative and absolute tolerance.
_TOLERANCES = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-3),
    "float32": (1e-5, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-3),
    "complex64": (1e-5, 1e-5),
    "complex128": (1e-7, 1e-7),
}


@dataclass(frozen=True)
class Difference:
    """Where two observations differ and how. A ``minor`` one (strides, texts of errors) is only counted."""

    path: str
    text: str
    minor: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


@dataclass(frozen=True)
class Rule:
    """How closely values must agree: not at all for random ones, up to sign or phase for eigenvectors.

    ``open`` is a regular expression for the paths of values that may be anything.
    """

    values: bool = True
    up_to_sign: bool = False
    open: str = ""

    def covers(self, path: str) -> bool:
        return self.values and not (self.open and re.search(self.open, path))


def differences(expected: Any, actual: Any, rule: Rule, path: str = "") -> Iterator[Difference]:
    """Every difference between two neutral values."""
    if isinstance(expected, Raised) or isinstance(actual, Raised):
        yield from _raised(expected, actual, path)
    elif isinstance(expected, Array) and isinstance(actual, Array):
        yield from _arrays(expected, actual, rule, path)
    elif isinstance(expected, Sequence) and isinstance(actual, Sequence):
        yield from _sequences(expected, actual, rule, path)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key in {**expected, **actual}:
            where = f"{path}.{key}" if path else str(key)
            if key not in expected or key not in actual:
                yield Difference(where, "unexpected" if key in actual else "absent")
            else:
                yield from differences(expected[key], actual[key], rule, where)
    elif type(expected) is not type(actual):
        yield Difference(path, f"{_brief(actual)} instead of {_brief(expected)}")
    elif isinstance(expected, np.ndarray):
        yield from _values(expected, actual, str(expected.dtype), rule, path)
    elif isinstance(expected, (float, complex)):
        yield from _values(np.asarray(expected), np.asarray(actual), "float32", rule, path)
    elif expected != actual and (rule.covers(path) or type(expected) is not int):
        yield Difference(path, f"{_brief(actual)} instead of {_brief(expected)}")


def _raised(expected: Any, actual: Any, path: str) -> Iterator[Difference]:
    if not isinstance(expected, Raised):
        yield Difference(path, f"raised {actual.name}: {_first_line(actual.message)}")
    elif not isinstance(actual, Raised):
        yield Difference(path, f"did not raise {expected.name}: {_first_line(expected.message)}")
    elif (expected.name, expected.builtin) != (actual.name, actual.builtin):
        one, other = (f"{error.name} ({_first_line(error.message)})" for error in (expected, actual))
        yield Difference(path, f"raised {other} instead of {one}")
    elif expected.message != actual.message:
        yield Difference(path, f"says {actual.message!r} instead of {expected.message!r}", minor="message")


def _sequences(expected: Sequence, actual: Sequence, rule: Rule, path: str) -> Iterator[Difference]:
    kinds = [f"{one.kind} {one.name}({', '.join(one.fields)})" for one in (expected, actual)]
    if kinds[0] != kinds[1]:
        yield Difference(path, f"is a {kinds[1]} instead of a {kinds[0]}")
    if len(expected.items) != len(actual.items):
        yield Difference(path, f"{_brief(actual)} instead of {_brief(expected)}")
        return
    for index, (one, other) in enumerate(zip(expected.items, actual.items)):
        yield from differences(one, other, rule, f"{path}[{index}]")


def _arrays(expected: Array, actual: Array, rule: Rule, path: str) -> Iterator[Difference]:
    for aspect in ("dtype", "device", "requires_grad"):
        one, other = getattr(expected, aspect), getattr(actual, aspect)
        if one != other:
            yield Difference(path, f"{aspect} {other} instead of {one}")
    if expected.values.shape == actual.values.shape and _seen_strides(expected) != _seen_strides(actual):
        yield Difference(path, f"strides {actual.strides} instead of {expected.strides}", minor="strides")
    yield from _values(expected.values, actual.values, expected.dtype, rule, path)


def _seen_strides(array: Array) -> list[int]:
    """The strides that matter: none in an empty tensor or along a dimension of size one."""
    if not array.values.size:
        return []
    return [stride for stride, size in zip(array.strides, array.values.shape) if size != 1]


def _values(expected: np.ndarray, actual: np.ndarray, dtype: str, rule: Rule, path: str) -> Iterator[Difference]:
    if expected.shape != actual.shape:
        yield Difference(path, f"shape {actual.shape} instead of {expected.shape}")
        return
    if not rule.covers(path) or not expected.size:
        return
    relative, absolute = _TOLERANCES.get(dtype, (0.0, 0.0))
    if dtype not in _TOLERANCES:
        bad = expected != actual
        error = np.zeros(expected.shape)
    else:
        one, other = _wide(expected), _wide(actual)
        if rule.up_to_sign:
            one, other = np.abs(one), np.abs(other)
        with np.errstate(all="ignore"):
            error = np.abs(other - one)
            close = error <= absolute * _size(one, path) + relative * np.abs(one)
        alike = (one == other) | (np.isnan(one) & np.isnan(other))
        bad = ~(alike | (close & np.isfinite(one) & np.isfinite(other)))
    if bad.any():
        worst = np.unravel_index(np.argmax(np.where(bad, np.nan_to_num(error, nan=np.inf), -1)), expected.shape)
        where = f" at {tuple(map(int, worst))}" if expected.ndim else ""
        count = f"{int(bad.sum())} of {expected.size} values differ"
        yield Difference(path, f"{count}, worst{where}: {actual[worst]} instead of {expected[worst]}")


def _size(values: np.ndarray, path: str) -> float:
    """By what rounding goes: a parameter's gradient adds up terms from all places, as large as its largest element."""
    finite = np.abs(values[np.isfinite(values)])
    return max(1.0, float(finite.max(initial=0.0))) if path.startswith("gradients.") else 1.0


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _brief(value: Any) -> str:
    if isinstance(value, Array):
        return f"a {value.dtype} tensor of shape {value.values.shape}"
    if isinstance(value, Sequence):
        return _shortened(f"[{', '.join(map(_brief, value.items))}]")
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


def _first_line(message: str) -> str:
    return _shortened(message.partition("\n")[0])
