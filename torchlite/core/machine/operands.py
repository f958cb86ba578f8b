"""Small questions about an op's arguments: their tensors, arrays, edges, common dtype and device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..state import is_watched, local
from ..values import CPU, Backend, dt, errors, get_backend, strided
from .overrides import PLAIN
from .registry import registry
from .tensor import wrap, wrap_shown
from .tensor_base import TensorBase
from .view import requires_grad, resolve

if TYPE_CHECKING:
    from ..declare.declaration import Declaration
    from ..declare.op import Op


def tensors_in(value: Any) -> Sequence[Any]:
    """The tensors in one argument."""
    if value.__class__ is tuple or value.__class__ is list:
        return [v for v in value if isinstance(v, TensorBase)]
    return (value,) if isinstance(value, TensorBase) else ()


def get_recorded(values: Sequence[Any]) -> bool:
    """Whether what is computed of these arguments now gets a history, or tangents."""
    return local.state.mode.records and any(requires_grad(t) for value in values for t in tensors_in(value))


def operands_in(value: Any) -> Sequence[Any]:
    """The tensors in one argument, or the number that it is."""
    return tensors_in(value) or (() if value is None or value.__class__ in (tuple, list) else (value,))


def differentiable(op: Declaration, results: Sequence[Any]) -> list[int]:
    """Through which of an op's results gradients go."""
    listed = results[: op.differentiable]
    return [nr for nr, r in enumerate(listed) if r is not None and r.dtype.category >= dt.FLOAT]


def computed(value: Any) -> Any:
    """An argument with the values of lazy tensors computed."""
    if value.__class__ is tuple or value.__class__ is list:
        return type(value)([computed(v) for v in value])
    if isinstance(value, TensorBase) and value._backend.lazy:
        if is_watched():  # a mode sees that the values are copied
            value = local.state.mode.seer(registry["clone"], (value, None))  # type: ignore[misc]
        backend = value._backend
        if not backend.lazy:
            return value
        array = backend.computed(value._array)
        return (wrap if array.base is None else wrap_shown)(array, value.dtype, backend.home)
    return value


def values_in_inference(value: Any) -> Any:
    """An argument of a function that PyTorch, in inference mode, gives the values of lazy tensors instead of these."""
    return computed(value) if local.state.mode.inference else value


def in_memory(t: Any) -> Any:
    """A tensor with the values that are in memory."""
    return wrap(t._array, t.dtype, t._backend.home) if t._backend.lazy else t


def array_of(value: Any) -> Any:
    if value.__class__ in PLAIN:
        return value._array
    if value.__class__ is tuple or value.__class__ is list:
        return type(value)([array_of(v) for v in value])
    return value._array if isinstance(value, TensorBase) else value


def alike(values: Sequence[Any], backend: Backend) -> bool:
    """Whether arguments are plain tensors of one dtype of this backend, or sequences of such."""
    kind = None
    for value in values:
        for t in value if value.__class__ is tuple else (value,):
            if t.__class__ not in PLAIN or t._backend is not backend or (t.dtype is not kind is not None):
                return False
            kind = t.dtype
    return True


def converted(value: Any, to: dt.dtype, backend: Backend) -> Any:
    """Arrays of `to`'s type for a tensor or number, or a sequence of them."""
    if value.__class__ in PLAIN and value.dtype is to and value._backend is backend:
        return value._array
    if value.__class__ is tuple or value.__class__ is list:
        return [converted(v, to, backend) for v in value]
    if isinstance(value, TensorBase):
        array = value._array
        if value._backend.real is not backend:  # a 0-dim tensor of the CPU
            array = backend.bring(array, value._backend.real)
        return array if value.dtype is to else backend.cast(array, to.numpy)
    return None if value is None else scalar_array(value, to, backend)


def scalar_array(value: Any, d: dt.dtype, backend: Backend) -> Any:
    """A 0-dim array of a Python number; integers wrap around."""
    if value.__class__ is int:
        if not -1 << 63 <= value < 1 << 64:
            raise errors.too_long(value)
        if d.category == dt.INT:
            bits = d.itemsize * 8
            value &= (1 << bits) - 1
            if d.is_signed and value >> bits - 1:
                value -= 1 << bits
    if d in dt.HALVES:
        value = float(value)
        if d is dt.float16 and abs(value) >= _INFINITE_HALF:
            value = math.copysign(math.inf, value)  # as rounding does, but without a warning
    return backend.asarray(value, d.numpy)


def fitting_array(value: Any, d: dt.dtype, backend: Backend) -> Any:
    """A 0-dim array of a number or a tensor's; RuntimeError when `d` cannot hold it (a float's fraction may go)."""
    kind = value.__class__
    if (kind is float or kind is int) and d in _SINGLE_AND_DOUBLE and -_SAFE < value < _SAFE:
        return backend.asarray(value, d.numpy)
    if isinstance(value, TensorBase):
        if not value._backend.values:
            return backend.empty((), d.numpy)
        value = value.item()
    if value.__class__ is int and not -(1 << 63) <= value < 1 << 64:
        raise errors.too_long(value)
    if d is dt.bool_:
        return backend.asarray(value != 0)
    if isinstance(value, complex) and not d.is_complex:
        if value.imag:
            raise _overflow(d)
        value = value.real
    if d.category == dt.INT:
        high = (1 << d.itemsize * 8 - d.is_signed) - 1
        low = ~high if d.is_signed else 0 if value.__class__ is float else -high  # integers count from the end
        if not low <= value <= high:
            raise _overflow(d)
        return scalar_array(int(value), d, backend)
    limit = _LARGEST.get(d.to_real(), math.inf)
    if any(limit < abs(part) < math.inf for part in (value.real, value.imag)):
        raise _overflow(d)
    return backend.cast(backend.asarray(value), d.numpy)


_INFINITE_HALF = 65520.0  # what is nearer to infinity than to the largest float16
_SINGLE_AND_DOUBLE, _SAFE = frozenset((dt.float32, dt.float64)), 1 << 62  # what needs no second look
_LARGEST = {dt.float16: 65504.0, dt.bfloat16: 3.3895313892515355e38, dt.float32: 3.4028234663852886e38}


def _overflow(d: dt.dtype) -> RuntimeError:
    name = d.cname if d.category != dt.INT or d is dt.int32 else f"{d.name}_t"
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def described(source: Any, what: str) -> Any:
    """An attribute (or argument-free method) of a tensor that a derivative names as `self_shape`, `self_stride`, …"""
    if source.__class__ is tuple or source.__class__ is list:
        return tuple([described(item, what) for item in source])
    if not isinstance(source, TensorBase):
        return () if what == "shape" else None
    if what == "stride" and not source._backend.shows and source._backend.layout is not strided:
        return ()  # which sparse tensors have none of
    value = source._array.shape if what == "shape" else getattr(source, what)
    return value() if callable(value) else value


def form_of(value: Any) -> tuple[tuple[int, ...], dt.dtype, Any] | None:
    """Shape, dtype and backend of a tensor; None for a number."""
    return (value._array.shape, value.dtype, value._backend.home) if isinstance(value, TensorBase) else None


# The edge of an operand that requires grad but whose history was not recorded: a view made while nothing was.
NOWHERE: Any = object()


def edge_of(value: Any) -> Any:
    """The edge an operand contributes; None for what has no gradient."""
    if not isinstance(value, TensorBase):
        return None
    edge = value._edge
    if edge is None or edge.__class__ is tuple:
        return edge
    found = resolve(value)
    return NOWHERE if found is None and requires_grad(value) else found


NO_TENSOR: frozenset[Any] = frozenset((int, float, bool, complex, type(None)))


def common_backend(op: Op, values: Sequence[Any]) -> Any:
    """The device of the operands: one for all, but 0-dim CPU tensors go along with any other."""
    found = None
    for i in op.operands:
        value = values[i]
        kind = value.__class__
        if kind in PLAIN:
            backend = value._backend.real
            if found is None or (backend is not found and backend.level > found.level):
                found = backend
            elif backend is not found and not found.level:
                return _mixed_backends(op, values)
        elif kind is tuple or kind is list:
            backends = {t._backend.real if t.__class__ in PLAIN else None for t in value}
            if found is not None:
                backends.add(found)
            if len(backends) != 1 or None in backends:
                return _mixed_backends(op, values)
            (found,) = backends
        elif kind not in NO_TENSOR:
            return _mixed_backends(op, values)
    return _mixed_backends(op, values) if found is None else found


def _mixed_backends(op: Op, values: Sequence[Any]) -> Any:
    tensors = [t for i in op.operands for t in tensors_in(values[i])]
    if not tensors:
        if op.of_numbers:
            return get_backend(CPU)
        raise op.signature.refusal(values, {})
    found = max([t._backend.real for t in tensors], key=_level)
    if found.level:
        return found
    if op.moves:
        return tensors[0]._backend.real
    strong = [t for t in tensors if t._array.shape or t._backend.device.type != "cpu"] or tensors
    found = strong[0]._backend.real
    for t in strong:
        if t._backend.real is not found:
            raise errors.different_devices(found.device, t._backend.device)
    return found


def _level(backend: Backend) -> int:
    return backend.level


def result_type(*values: Any) -> dt.dtype:
    """The dtype that tensors and numbers promote to together."""
    kinds = tuple([
        (v.dtype if v._array.shape else v.dtype.name)
        if isinstance(v, TensorBase)
        else v.__class__ if v.__class__ is not int or v < _LONG else v >> 64
        for v in values
    ])  # fmt: skip
    known = _results.setdefault(dt.get_default_dtype(), {})
    return known.get(kinds) or known.setdefault(kinds, _find_result_type(values))


_LONG = 1 << 63  # ints from here on are uint64, or no operands
# The default dtype -> what operands are (a dtype, of 0-dim tensors its name, of numbers their class) -> the common one.
_results: dict[dt.dtype, dict[tuple[Any, ...], dt.dtype]] = {}


def _find_result_type(values: Sequence[Any]) -> dt.dtype:
    dimensioned: list[dt.dtype] = []
    zero_dim: list[dt.dtype] = []
    numbers: list[Any] = []
    for v in values:
        if isinstance(v, TensorBase):
            (dimensioned if v._array.shape else zero_dim).append(v.dtype)
        else:
            numbers.append(dt.of_operand(v))
    return dt.result_of(dimensioned, zero_dim, numbers)
