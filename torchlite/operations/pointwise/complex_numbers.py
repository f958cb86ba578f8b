"""Complex numbers: their parts, conjugates, and making them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backends.lazy import CONJ, NEG, flipped
from ...core.declare import Elementwise, Op, Unary, ViewOp, describe, publish, publish_python
from ...core.machine import Tensor, functions, values_in_inference
from ...core.values import Array, Backend, Namespace, contiguous_format, dt, strided
from ..formulas import zeros
from ..making.copy import arranged_as_copy, clone
from ..shapes.slicing import select
from ..vocabulary import COMMON
from .selection import where

_PARTS = frozenset((dt.float16, dt.float32, dt.float64))  # what complex numbers are made of

# ---- views as pairs of real numbers, and back


def _view_as_real(xp: Namespace, array: Array) -> Array:
    return array[..., None].view(dt.of_numpy(array.dtype).to_real().numpy)


def _check_complex(self: Tensor) -> None:
    if self._backend.layout is strided and not self.dtype.is_complex:  # rules of other layouts check their own
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if is_conj(self):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )


def _check_pairs(self: Tensor) -> None:
    if self._backend.layout is not strided:
        return
    if self.dtype not in _PARTS:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{self.dtype.legacy}"
        )
    if not self.dim():
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    *outer, last = self.stride()
    if last != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in outer):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")


def _in_pairs(g: Tensor) -> Tensor:
    """The gradient as what can be viewed as complex: where it is contiguous, steps that reach nothing may be any."""
    *outer, last = g.stride()
    odd = g.is_contiguous() and (last != 1 or any([s % 2 for s in outer]))
    return g.clone(memory_format=contiguous_format) if odd else g.contiguous()


view_as_real = ViewOp(
    "view_as_real(Tensor self)",
    _view_as_real,
    {"self": lambda g: view_as_complex.apply(_in_pairs(g))},
    check=_check_complex,
    reinterprets=True,
)
publish(view_as_real, method=False)
view_as_complex: ViewOp = ViewOp(
    "view_as_complex(Tensor self)",
    lambda xp, array: array.view(dt.of_numpy(array.dtype).to_complex().numpy)[..., 0],
    {"self": lambda g: view_as_real.apply(g)},
    check=_check_pairs,
    reinterprets=True,
)
publish(view_as_complex, method=False)


def _of_pairs(pairs: Tensor, at: int) -> Tensor:
    return select.apply(pairs, pairs.dim() - 1, at)


def real(self: Tensor) -> Tensor:
    """The real parts, as a view; a real tensor itself."""
    if not self.dtype.is_complex:
        return self
    return _of_pairs(view_as_real.apply(conj(self) if is_conj(self) else self), 0)


def imag(self: Tensor) -> Tensor:
    """The imaginary parts, as a view."""
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    pairs = neg_view.apply(view_as_real.apply(conj(self))) if is_conj(self) else view_as_real.apply(self)
    return _of_pairs(pairs, 1)


for _name, _part in (("real", real), ("imag", imag)):
    publish_python(f"{_name}(Tensor self)", _part, method=False)

    def _set(self: Tensor, value: Any, part: Any = _part) -> None:
        part(self).copy_(value) if isinstance(value, Tensor) else part(self).fill_(value)

    setattr(Tensor, _name, property(functions[_name], _set, doc=_part.__doc__))


# ---- conjugates

conj_physical = Unary("conj_physical", "conjugate", lambda g: g.conj(), dtypes=COMMON, arranged=arranged_as_copy)


def _check_flipped(op: Op, target: Tensor, values: Sequence[Any]) -> None:
    """A real tensor is left as it is, whatever memory it shows."""
    if target.dtype.is_complex:
        Op.check_memory(op, target, values)


in_place = Unary(
    "conj_physical.in_place", "conjugate", lambda g: g.conj(), dtypes=COMMON, node="ConjPhysicalBackward1",
    check_memory=_check_flipped,
)  # fmt: skip
publish(in_place, function=False, method=False, inplace=True)
publish_python(
    "conj_physical(Tensor self)",
    lambda self: conj_physical.apply(self) if self.dtype.is_complex else values_in_inference(self),
)


def _flip(name: str, bit: int, vjp: Callable[..., Any], **words: Any) -> ViewOp:
    """A view with other values: those that the same memory stands for with one bit flipped."""

    def wrap_flipped(op: Op, outputs: Any, out_dtype: Any, backend: Backend) -> Any:
        return ViewOp.wrap_results(op, outputs, out_dtype, flipped(backend, bit))

    return ViewOp(
        f"{name}(Tensor self)", lambda xp, array: array, {"self": vjp}, wrap_results=wrap_flipped,
        reinterprets=True, **words,
    )  # fmt: skip


def _only_complex(self: Tensor) -> None:
    if not self.dtype.is_complex:
        raise RuntimeError("_conj is only supported for complex tensors")


conj_view = _flip("_conj", CONJ, lambda g: g.conj(), check=_only_complex)
publish(conj_view)
neg_view = _flip("_neg_view", NEG, lambda g: -g)
publish(neg_view)


def conj(self: Tensor) -> Tensor:
    """The conjugate, as a view: it is computed when it is read. A real tensor itself."""
    if not self.dtype.is_complex:
        return self
    return conj_view.apply(self) if self.layout is strided else conj_physical.apply(self)


def resolve_conj(self: Tensor) -> Tensor:
    """The tensor itself, or a copy of a conjugate view."""
    return clone.apply(self, None) if is_conj(self) else self


def resolve_neg(self: Tensor) -> Tensor:
    """The tensor itself, or a copy of a negative view."""
    return clone.apply(self, None) if is_neg(self) else self


def is_conj(self: Tensor) -> bool:
    """Whether this is a view of the memory that holds its conjugate."""
    return bool(self._backend.bits & CONJ)


def is_neg(self: Tensor) -> bool:
    """Whether this is a view of the memory that holds its negative."""
    return bool(self._backend.bits & NEG)


for _call in (conj, resolve_conj, resolve_neg):
    publish_python(f"{_call.__name__}(Tensor self)", _call, by_form=False)
for _asked in (is_conj, is_neg):
    publish_python(f"{_asked.__name__}(Tensor self) -> bool", _asked, by_form=False)


# ---- polar form


def _angle(xp: Namespace, x: Array) -> Any:
    if x.dtype.kind == "c":
        angles = xp.arctan2(x.imag, x.real)
        return angles if angles.flags.c_contiguous else angles.copy("C")
    return xp.where(x != x, x, (x < 0).astype(x.dtype) * x.dtype.type(math.pi))


def _angle_vjp(g: Tensor, self: Tensor) -> Tensor:
    if not self.dtype.is_complex:
        return functions["zeros_like"](self)
    size = self.abs()
    squares = size**2
    slope = g * self / squares * 1j
    nothing = zeros(self, ())
    return where(size == 0.0, nothing, slope)


def _arranged_angles(op: Elementwise, outputs: Any, values: Sequence[Any]) -> Any:
    """Those of complex numbers lie row by row."""
    return outputs if values[0].dtype.is_complex else Elementwise.arranged(op, outputs, values)


angle = Unary("angle", _angle, _angle_vjp, result="real", integers="float", arranged=_arranged_angles, converts=True)
publish(angle)


def _check_made(out: Any, values: Sequence[Any]) -> None:
    made, given = values[0].dtype.to_complex(), out.dtype
    if given is not made:
        raise RuntimeError(
            f"Expected object of scalar type {made.legacy} but got scalar type {given.legacy} for argument 'out'"
        )


def _check_parts(one: Tensor, other: Tensor) -> None:
    pair = (one.dtype.legacy, other.dtype.legacy)
    if one.dtype not in _PARTS or other.dtype not in _PARTS:
        raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got {} and {}".format(*pair))
    if one.dtype is not other.dtype:
        raise RuntimeError("Expected object of scalar type {} but got scalar type {} for second argument".format(*pair))


def _join(xp: Namespace, real: Array, imag: Any) -> Any:
    d = dt.of_numpy(real.dtype).to_complex()
    made = xp.empty_like(xp.add(real, imag), dtype=dt.WIDE.get(d, d).numpy)
    parts = _view_as_real(xp, made)
    parts[..., 0], parts[..., 1] = real, imag
    return made


complex_ = Elementwise(
    "complex(Tensor real, Tensor imag)", _join, {"real": lambda g, real: g.real, "imag": lambda g, imag: g.imag},
    check=_check_parts, check_out=_check_made, result="complex", dtypes=_PARTS,
)  # fmt: skip
publish(complex_, method=False)
def _polar_vjp(g: Tensor, result: Tensor, needs: Sequence[bool]) -> list[Tensor | None]:
    turned = g.conj()
    return [(turned * result.sgn()).real if needs[0] else None, (turned * (result * 1j)).real if needs[1] else None]


polar = Elementwise(
    "polar(Tensor abs, Tensor angle)",
    lambda xp, abs, angle: _join(xp, abs * xp.cos(angle), abs * xp.sin(angle)),
    _polar_vjp,
    check=_check_parts, check_out=_check_made, result="complex", dtypes=frozenset((dt.float32, dt.float64)),
)  # fmt: skip
publish(polar, method=False)


describe(
    angle="The angle of each element in the complex plane, in radians: 0 for positive real numbers, pi for "
    "negative ones.",
    complex="The complex tensor of these real and imaginary parts.",
    conj_physical="The complex conjugate of each element, computed at once.",
    polar="The complex numbers of these absolute values and angles.",
    view_as_complex="A view of pairs of real numbers, the last dimension, as complex ones.",
    view_as_real="A view of complex numbers as pairs of real ones, in a new last dimension.",
)
