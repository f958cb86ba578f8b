"""Small questions about an op's arguments: their tensors, arrays, edges, common dtype and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import dtype as dt
from . import errors
from .node import OpNode, Saved, version_of
from .tensor import TensorBase
from .view import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .op import Op
    from .tensor import Tensor

def tensors_in(value: Any) -> Sequence[Any]:
    """The tensors in one argument."""
    if value.__class__ is tuple or value.__class__ is list:
        return [v for v in value if isinstance(v, TensorBase)]
    return (value,) if isinstance(value, TensorBase) else ()


def array_of(value: Any) -> Any:
    if value.__class__ is tuple or value.__class__ is list:
        return type(value)([array_of(v) for v in value])
    return value.array if isinstance(value, TensorBase) else value


def converted(value: Any, to: dt.dtype, backend: Any) -> Any:
    """Arrays of `to`'s type for a tensor or number, or a sequence of them."""
    if value.__class__ is tuple or value.__class__ is list:
        return [converted(v, to, backend) for v in value]
    if isinstance(value, TensorBase):
        return value.array if value.dtype is to else backend.cast(value.array, to.numpy)
    return None if value is None else scalar_array(value, to, backend)


def scalar_array(value: Any, d: dt.dtype, backend: Any) -> Any:
    """A 0-dim array of a Python number; integers wrap around."""
    if d.category == dt.INT and value.__class__ is int:
        bits = d.itemsize * 8
        value &= (1 << bits) - 1
        if d.is_signed and value >> bits - 1:
            value -= 1 << bits
    return backend.asarray(value, d.numpy)


def described(source: Any, what: str) -> Any:
    """An attribute (or argument-free method) of a tensor that a derivative names as `self_shape`, `self_stride`, …"""
    if not isinstance(source, TensorBase):
        return () if what == "shape" else None
    value = source.array.shape if what == "shape" else getattr(source, what)
    return value() if callable(value) else value


def requires_grad(value: Any) -> bool:
    return isinstance(value, TensorBase) and value.edge is not None and resolve(value) is not None


def edge_of(value: Any) -> Any:
    """The edge an operand contributes; None for what has no gradient."""
    if not isinstance(value, TensorBase):
        return None
    edge = value.edge
    return edge if edge is None or edge.__class__ is tuple else resolve(value)


def keep(value: Any, hooks: tuple[Any, ...]) -> Any:
    if value.__class__ is tuple or value.__class__ is list:
        return SavedList([keep(v, hooks) for v in value])
    if not isinstance(value, TensorBase):
        return SavedNumber(value)
    if hooks:
        saved = Saved(value)
        saved.register_hooks(*hooks[-1])
        return saved
    return (value, version_of(value))


def keep_output(result: Tensor, nr: int, hooks: tuple[Any, ...]) -> Saved:
    saved = Saved(result, nr)
    if hooks:
        saved.register_hooks(*hooks[-1])
    return saved


class SavedNumber:
    """A number that stood where a tensor may."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def read(self, node: OpNode) -> Any:
        return self.value


class SavedList:
    __slots__ = ("entries",)

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def read(self, node: OpNode) -> Any:
        return [node.read(e) for e in self.entries]


def common_backend(op: Op, values: Sequence[Any]) -> Any:
    """The device of the operands: one for all, but 0-dim CPU tensors go along with any other."""
    found = weak = None
    for i in op.operands:
        for t in tensors_in(values[i]):
            real = t.backend.real
            if found is None or real is found:
                found = real
            elif weak is None and not t.array.shape and real.device.type == "cpu":
                weak = real
            elif found.device.type == "cpu" and not any(
                u.array.shape for k in op.operands for u in tensors_in(values[k]) if u.backend.real is found
            ):
                found = real
            else:
                raise errors.different_devices(found.device, real.device)
    if found is None:
        raise TypeError(f"{op.signature.name}(): expected a tensor among the arguments")
    return found


def result_type(*values: Any) -> dt.dtype:
    """The dtype that tensors and numbers promote to together."""
    dimensioned, zero_dim, numbers = [], [], []
    for v in values:
        if isinstance(v, TensorBase):
            (dimensioned if v.array.shape else zero_dim).append(v.dtype)
        else:
            numbers.append(dt.of_number(v))
    return dt.result_of(dimensioned, zero_dim, numbers)


