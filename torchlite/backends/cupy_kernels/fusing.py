"""Kernels written over an array namespace, as one launch each: CuPy follows what they do, and makes a kernel of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy._core import create_ufunc

from .raw import STORED, TYPES

_A_NUMBER = -1  # the dimensions that numbers have while CuPy follows a function
_MOST = 16  # kernels of one op: integers and words that it takes may differ from call to call
_HALVES = STORED.keys() - TYPES
_BITS = np.dtype(np.uint16)  # of a bfloat16, which CuPy does not follow

_widened = create_ufunc("torchlite_widened", ("e->f", ("H->f", "out0 = __int_as_float((int)in0 << 16)")), "out0 = in0")
_narrowed_bits = create_ufunc(
    "torchlite_narrowed_bits", ("f->H",),
    "const unsigned int bits = __float_as_int(in0);"
    "out0 = in0 != in0 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16",
)  # fmt: skip


class _Stored(NamedTuple):
    """An operand that comes as halves, and is computed with as float32."""

    dtype: np.dtype


def follow(formula: Callable[..., Any], *operands: Any) -> Any:
    """What a formula of arrays gives, by one launch; halves are computed in float32."""
    found = _FORMULAS.get(formula)
    if found is None:
        found = _FORMULAS[formula] = Fused("formula", formula, widens=True)
    return found(*operands)


class Fused:
    """A function that treats every element alike: fused for real floating-point arrays, and as it stands for others.

    So is one that does what CuPy can't follow, such as looking at a value. One that `widens` computes halves in
    float32, and rounds once.
    """

    def __init__(self, name: str, general: Callable[..., Any], widens: bool = False) -> None:
        self.name = f"torchlite_{name.replace('.', '_')}"
        self.general = general
        self.widened = _HALVES if widens else frozenset()
        self.made: dict[tuple[Any, ...], Callable[..., Any]] = {}  # by what is neither an array nor a float

    def __call__(self, *operands: Any) -> Any:
        known: list[Any] = []
        given: list[Any] = []
        half = None
        for operand in operands:
            if operand.__class__ is cupy.ndarray:
                dtype = operand.dtype
                if dtype in self.widened:
                    half = _Stored(dtype)
                    known.append(half)
                    given.append(operand if dtype.kind == "f" else operand.view(_BITS))
                    continue
                if dtype.kind != "f":
                    break
            elif operand.__class__ is not float:
                known.append(operand)
                continue
            known.append(Fused)
            given.append(np.float64(operand) if operand.__class__ is float else operand)
        else:
            made = self._made(tuple(known), given)
            return _as_halves(made, half.dtype) if half is not None and half.dtype.kind == "V" else made
        return self._general(operands)

    def _made(self, key: tuple[Any, ...], given: list[Any]) -> Any:
        found = self.made.get(key)
        if found is None:
            if len(self.made) == _MOST:
                return self._with(key)(*given)
            found = self.made[key] = cupy.fuse(kernel_name=self.name)(self._with(key))
        try:
            return found(*given)
        except (TypeError, AttributeError, NotImplementedError, ValueError):
            self.made[key] = self._with(key)
            return self.made[key](*given)

    def _with(self, known: tuple[Any, ...]) -> Callable[..., Any]:
        """The kernel as a function of its arrays and floats alone."""
        half = next((k for k in known if k.__class__ is _Stored), None)

        def call(*given: Any) -> Any:
            left = iter(given)
            values = [next(left) if k is Fused or k.__class__ is _Stored else k for k in known]
            values = [_widened(v) if k.__class__ is _Stored else v for v, k in zip(values, known)]
            arrays = [v for v, k in zip(values, known) if k is Fused or k.__class__ is _Stored]
            dtype = next((v.dtype for v in arrays if getattr(v, "ndim", _A_NUMBER) >= 0), None)
            values = [_number(v, dtype) if k is Fused else v for v, k in zip(values, known)]
            made = self.general(*values)
            return made if half is None else _each(_narrowed, made, half.dtype)

        return call

    def _general(self, operands: tuple[Any, ...]) -> Any:
        """The kernel as it stands, on arrays of which some are no floating-point numbers."""
        half = next((a.dtype for a in operands if a.__class__ is cupy.ndarray and a.dtype in self.widened), None)
        if half is None:
            return self.general(*operands)
        wide = [a.astype(np.float32) if a.__class__ is cupy.ndarray and a.dtype == half else a for a in operands]
        return self.general(*wide)


def instead_of(ufunc: Callable[..., Any], fused: Fused, operands: int, wide: bool) -> Callable[..., Any]:
    """A ufunc, which is `fused` where CuPy's rounds twice: of halves, and where not `wide`, of them beside numbers."""

    def kernel(*given: Any) -> Any:
        if len(given) == operands:  # else there is memory to write to
            for a in given:
                if a.__class__ is float or (wide and a.__class__ is cupy.ndarray and a.dtype in _HALVES):
                    return fused(*given)
        return ufunc(*given)

    return kernel


def _number(value: Any, dtype: Any) -> Any:
    """A number as one of the arrays' type; of others alone, CuPy makes some of half precision. Arrays stay."""
    if value.__class__ is np.float64:
        return float(value)
    return value.astype(dtype) if value.ndim == _A_NUMBER else value


def _each(function: Callable[..., Any], made: Any, *more: Any) -> Any:
    return tuple([function(m, *more) for m in made]) if made.__class__ is tuple else function(made, *more)


def _narrowed(made: Any, half: np.dtype) -> Any:
    if made.dtype != np.float32:
        return made
    return made.astype(half) if half.kind == "f" else _narrowed_bits(made)


def _as_halves(made: Any, half: np.dtype) -> Any:
    return _each(lambda m: m.view(half) if m.dtype == _BITS else m, made)


_FORMULAS: dict[Callable[..., Any], Fused] = {}
