"""Copies and conversions: `clone`, `to`, `contiguous`, and writing one tensor into another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...backends.base import get_backend
from ...backends.sparse import layout_name, without
from ...core.declare import (
    LaidOp,
    Op,
    Signature,
    aten,
    describe,
    dtype_of,
    fit_gradient,
    method,
    publish,
    published,
    tell,
)
from ...core.declare.misfits import invalid_combination, misfit
from ...core.machine import TensorBase
from ...core.machine.batching import LEADING, refuse_batch
from ...core.machine.node import UNVERSIONED
from ...core.machine.operands import converted, fitting_array, in_memory, scalar_array, values_in_inference
from ...core.machine.overrides import dispatch, needs_dispatch, overridable, public
from ...core.machine.plan import planned
from ...core.machine.put import put
from ...core.machine.registry import functions
from ...core.machine.tensor import Tensor, wrap
from ...core.machine.write import bump, same_elements, write
from ...core.native import named, quick
from ...core.state import Mode, State, local
from ...core.values import Array, Backend, DeviceLike, Namespace, errors
from ...core.values import dtype as dt
from ...core.values.device import device
from ...core.values.layout import (
    COMPRESSED,
    channels_last,
    channels_last_3d,
    channels_last_strides,
    contiguous_format,
    dense_strides,
    memory_format,
    preserve_format,
    sparse_coo,
)
from ..vocabulary import zero_gradient


def in_order_of(backend: Backend, made: Any, array: Array) -> Any:
    """`made`, NumPy's copy of `array`, with the strides that PyTorch gives a copy."""
    if not backend.strided or array.base is None or (array.ndim == 1 and array.size > 1):
        return made
    return backend.ordered(made, dense_strides(array.shape, backend.strides(array)))


def arranged_as_copy(op: Op, outputs: Any, values: Sequence[Any]) -> Any:
    """`arranged` for results that PyTorch writes into an empty copy of the operand."""
    return in_order_of(values[0]._backend.real, outputs, values[0]._array)


def _clone(backend: Backend, array: Array, format_: memory_format | None) -> Any:
    if format_ is None or format_ is preserve_format:
        return in_order_of(backend, backend.copy(array), array)
    if format_ is contiguous_format:
        return backend.copy(array, "C")
    check_format(array.ndim, format_)
    ndim = array.ndim
    channels_inside = backend.copy(array.transpose((0, *range(2, ndim), 1)), "C")
    return channels_inside.transpose((0, ndim - 1, *range(1, ndim - 1)))


_RANKS = {channels_last: 4, channels_last_3d: 5}  # of the tensors that may have these formats


def check_format(ndim: int, format_: memory_format) -> None:
    rank = _RANKS[format_]
    if ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {format_.name} format")


def _of_inference(op: Op, state: State, mode: Mode, values: Sequence[Any]) -> Any:
    """A clone of a tensor made in inference mode is an ordinary one."""
    t: Tensor = values[0]
    if t._counter is not UNVERSIONED or mode.inference:
        return Op.run_generally(op, state, mode, values)
    return t.new_empty(t.shape).copy_(t)


clone = LaidOp(
    "clone(Tensor self, *, MemoryFormat? memory_format=None)",
    _clone,
    {"self": lambda g: g},
    linear=True, batch=LEADING, run_generally=_of_inference, by_form=True,
)  # fmt: skip
publish(clone)


@published("_lazy_clone(Tensor self)")
def _lazy_clone(input: Tensor) -> Tensor:
    """A copy, which is made at once."""
    return clone.apply(input, None)


def real_if(g: Tensor, d: dt.dtype) -> Tensor:
    """The real part of a complex gradient for a real operand."""
    return g.real if g.dtype.is_complex and not d.is_complex else g


def _cast(backend: Backend, array: Array, to: Any, format_: memory_format | None) -> Any:
    made = in_order_of(backend, backend.cast(array, to), array)
    return made if format_ is None else _clone(backend, made, format_)


cast = LaidOp(
    "_to_copy(Tensor self, ScalarType dtype, MemoryFormat? memory_format=None)",
    _cast,
    {"self": lambda g, self_dtype: real_if(g, self_dtype).to(self_dtype)},
    prepare=lambda op, values, backend: ([values[0]._array, values[1].numpy, values[2]], values[1]),
    record=lambda op, values, results: Op.record(op, values, results) if values[1].category >= dt.FLOAT else None,
    linear=True, batch=LEADING, by_form=True,
)  # fmt: skip


_TO_COPY = Signature(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None)"
)


def _to_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy, converted or not, as the overload of this name makes it."""
    self, d, _, where, _, _, format_ = _TO_COPY.bind(args, kwargs)
    return convert(self, d, where, True, format_)


aten["_to_copy"] = _to_copy


def _move(op: Op, *values: Any) -> Any:
    """A copy on another device."""
    source, where = values
    level = source._backend.real
    if level.level:
        return level.run(op, values)
    seer = local.state.mode.seer
    if seer is not None:
        result = seer(op, values)
    else:
        backend = get_backend(where)
        result = wrap(backend.bring(source._array, source._backend.real), source.dtype, backend)
    if local.state.mode.records:
        op.remember(values, (result,))
    return result


move = Op(
    "_to_device(Tensor self, Device device)",
    None,
    {"self": lambda g, self_device: g.to(self_device)},
    node="ToCopyBackward0", linear=True, batch=LEADING, apply=_move,
)  # fmt: skip


def _is_elsewhere(t: Tensor, where: device) -> bool:
    if not t._backend.handed:
        return get_backend(where).device != t._backend.device
    said = t.device  # by its class, and perhaps of a kind that there is not
    return where.type != said.type or where.index not in (None, said.index)


def convert(
    t: Tensor, d: dt.dtype | None, where: device | None, copy: bool = False, format_: memory_format | None = None
) -> Tensor:
    """`t` with this dtype on this device; `t` itself when it already is so and no copy is asked for."""
    result = t
    if where is not None and _is_elsewhere(t, where):
        result = move.apply(result, where)
    format_ = None if format_ is preserve_format else format_
    d = result.dtype if d is None else d
    if d is not result.dtype or (copy and result is t) or (format_ is not None and format_ is not _suggested(result)):
        if format_ is not None and result.layout is sparse_coo:
            kind = "".join(map(str.capitalize, repr(format_)[6:].removesuffix("_format").split("_")))
            raise RuntimeError(f"to(options): COO only supports memory format Preserve, but got {kind} instead.")
        result = cast.apply(result, d, format_)
    return result


def _suggested(t: Tensor) -> memory_format:
    """The memory format that the strides of a tensor are taken for."""
    last = next((f for f, rank in _RANKS.items() if rank == t.dim()), None)
    return last if last and not is_contiguous(t) and is_contiguous(t, memory_format=last) else contiguous_format


# Tensor.to is three functions in one name.
_HOW = "bool non_blocking=False, bool copy=False, *, MemoryFormat? memory_format=None"
_TO_DEVICE = Signature(f"to(Tensor self, Device? device=None, ScalarType? dtype=None, {_HOW})")
_TO_DTYPE = Signature(f"to(Tensor self, ScalarType dtype, {_HOW})")
_TO_OTHER = Signature(f"to(Tensor self, Tensor tensor, {_HOW})")
_TO = (_TO_DEVICE, _TO_DTYPE, _TO_OTHER)


def _comes_to(t: Tensor, d: dt.dtype | None, where: device | None, copy: bool, format_: Any) -> tuple[Any, ...] | None:
    """The op that a conversion comes to where it is one of the dtype alone."""
    stays = where is None or get_backend(where).device == t._backend.device
    return (cast, (t, d, None)) if stays and d not in (None, t.dtype) and format_ in (None, preserve_format) else None


def _by_plan(asked: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion by way of plans; `asked` says what a call asks for."""
    made = planned(lambda args, kwargs: _comes_to(*asked(*args, **kwargs)), general)
    public[general] = made
    return named(made, general)


def _asked(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What a call of `to` asks for: the tensor, dtype, device, whether to copy in any case, the memory format."""
    first = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("dtype"))
    try:
        if isinstance(first, TensorBase):
            t, other, _, copy, format_ = _TO_OTHER.bind(args, kwargs, True)
            return t, other.dtype, other.device, copy, format_
        if dtype_of(first) is not None and "device" not in kwargs:
            t, d, _, copy, format_ = _TO_DTYPE.bind(args, kwargs, True)
            return t, d, None, copy, format_
        t, where, d, _, copy, format_ = _TO_DEVICE.bind(args, kwargs, True)
    except TypeError as error:
        if len(args) > _TO_DEVICE.positional:
            raise TypeError(misfit(_TO_DEVICE, args, kwargs, method=True)) from error
        raise invalid_combination("to", args, kwargs, _TO, method=True) from error
    return t, d, where, copy, format_


@overridable
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """This tensor with another dtype, on another device, or both; itself when nothing changes."""
    return convert(*_asked(self, *args, **kwargs))


method("to")(tell(_by_plan(_asked, to), "to", _TO, method=True, doc=to.__doc__))


def _conversion(name: str, d: dt.dtype | None, where: device | None = None) -> None:
    signature = Signature(f"{name}(Tensor self, *, MemoryFormat? memory_format=None)")

    def asked(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        t, format_ = signature.bind(args, kwargs, True)
        return t, d, where, False, format_

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if (self.__class__ is not Tensor or local.state.mode.functions) and needs_dispatch((self,), {}):
            return dispatch(call, (self, *args), kwargs)
        return convert(*asked(self, *args, **kwargs)) if args or kwargs else convert(self, d, where)

    call.__name__ = name
    said = f"This tensor {f'as {d!r}' if d else 'in host memory'}."
    method(name)(tell(_by_plan(asked, call), name, [signature], method=True, doc=said))


for _name in ("half", "bfloat16", "float", "double", "bool", "short", "int", "long", "chalf", "cfloat", "cdouble"):
    _conversion(_name, dt.NAMES[_name])
_conversion("byte", dt.uint8)
_conversion("char", dt.int8)
_conversion("cpu", None, device("cpu"))


@published("type_as(Tensor self, Tensor other)", function=False, by_form=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor with the dtype and on the device of `other`."""
    if self.layout is not other.layout:
        raise RuntimeError(
            "to(options) doesn't support converting to a different layout, but got self.layout being "
            f"{layout_name(self)} and options.layout set as {layout_name(other)}"
        )
    return convert(values_in_inference(self), other.dtype, other.device)


@method("cuda")
def cuda(
    self: Tensor, device_: Any = None, non_blocking: bool = False, memory_format: memory_format | None = None, *,
    device: DeviceLike = None,
) -> Tensor:  # fmt: skip
    """This tensor on a CUDA device."""
    where = device_ if device is None else device
    return convert(self, None, _cuda_device(where), False, memory_format)


def _cuda_device(where: Any) -> device:
    found = device("cuda") if where is None else device(where)
    if found.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return found


@method("is_contiguous")
@quick
def is_contiguous(self: Tensor, *, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the elements lie in memory in order, without gaps."""
    shape = self._array.shape
    if self._backend.layout in COMPRESSED:
        raise without(self._backend.layout, "is_contiguous")
    if memory_format is contiguous_format or memory_format is preserve_format:
        return bool(self._array.flags.c_contiguous)
    refuse_batch(
        (self,), "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
    )
    if len(shape) != _RANKS[memory_format]:
        return False
    wanted = channels_last_strides(shape)
    return all(n == 1 or s == w for n, s, w in zip(shape, self.stride(), wanted, strict=True))


@method("contiguous")
@quick
def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """This tensor, copied only if its elements do not yet lie in order."""
    if memory_format in _RANKS:
        check_format(self.dim(), memory_format)
    if is_contiguous(self, memory_format=memory_format):
        return self
    if self.is_sparse:
        raise RuntimeError("unsupported memory format option Contiguous")
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return clone.apply(self, memory_format)


# The dtypes that hold numbers without loss.
_OF_NUMBERS = {bool: dt.bool_, int: dt.int64, float: dt.float64, complex: dt.complex128}


def _check_copied(op: Op, target: Tensor, values: Sequence[Any]) -> None:
    source, backend = values[0], target._backend.real
    a, b = target._array, source._array
    alike = a.shape == b.shape and source._backend.real is backend and source.dtype is target.dtype
    if source is target or (alike and backend.strided and same_elements(backend, a, b)):
        return
    Op.check_memory(op, in_memory(target), [in_memory(source)])


def _copy_number(op: Op, values: list[Any]) -> Tensor:
    target, source, *more = values
    if not isinstance(source, TensorBase):
        d, backend = _OF_NUMBERS[type(source)], get_backend(target.device)
        source = wrap(scalar_array(source, d, backend), d, backend)
    return Op.apply_in_place(op, [target, source, *more])


def _overwrite_converted(op: Op, self_: Tensor, before: Tensor, values: list[Any]) -> None:
    """The source is converted, moved and broadcast into the tensor's memory."""
    source = values[1]
    shape, have = self_._array.shape, source._array.shape
    errors.within(shape, have)
    backend = self_._backend.real
    array = source._array
    if source._backend.real is not backend:
        array = backend.bring(array, source._backend.real)
    if source.dtype is not self_.dtype:
        array = local.state.quiet(backend.cast, array, self_.dtype.numpy)
    backend.write(self_._array, array)
    bump(self_)


copy_ = Op(
    "copy(Tensor self, Operand other, bool non_blocking=False)",
    None,
    {
        "self": lambda g: functions["zeros_like"](g, memory_format=contiguous_format),
        "other": lambda g, other_shape, other_dtype, other_device: (
            fit_gradient(g.to(other_device), other_shape, other_dtype)
        ),
    },
    node="torch::autograd::CopyBackwards", moves=True, lifts=True, apply_in_place=_copy_number,
    check_memory=_check_copied, check_written_back=lambda op, target: None, overwrite=_overwrite_converted,
    overwrite_inside=lambda op, self_, before, values: write(self_, values[1]), shows="",
)  # fmt: skip
publish(copy_, function=False, method=False, inplace=True)
put("copy_", tensors=True)


def _filling(value: Any, d: dt.dtype, backend: Backend) -> Any:
    """The value as an array: a tensor is cast, as by `copy_`; a number must fit."""
    if isinstance(value, TensorBase):
        return local.state.quiet(converted, value, d, backend)
    return fitting_array(value, d, backend)


def _check_filling(self: Tensor, value: Tensor) -> None:
    if value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )


def write_number(t: Tensor, number: Any) -> None:
    """A number, which must fit, everywhere in a tensor's memory; halves in memory of one element are only cast to."""
    backend, d = t._backend.real, t.dtype
    if d in dt.HALVES and t._array.size == 1:
        array = local.state.quiet(backend.cast, fitting_array(number, dt.float64, backend), d.numpy)
    else:
        array = fitting_array(number, d, backend)
    backend.write(t._array, array)


def _overwrite_all(op: Op, self_: Tensor, before: Tensor, values: list[Any]) -> None:
    value = values[1] if len(values) > 1 else 0
    if isinstance(value, TensorBase):
        backend = self_._backend.real
        backend.write(self_._array, _filling(value, self_.dtype, backend))
    else:
        write_number(self_, value)
    bump(self_)


def _with_filling(op: Op, values: Any, backend: Backend) -> tuple[Any, ...]:
    t, value = values if len(values) > 1 else (*values, 0)
    return [t._array, _filling(value, t.dtype, backend)], None


_FILLING: dict[str, Any] = {  # the value is read before anything is written
    "reads": lambda *values: (), "overwrite": _overwrite_all, "prepare": _with_filling,
}  # fmt: skip


def _filled(xp: Namespace, self: Array, value: Any) -> Any:
    result = xp.empty_like(self)
    result[...] = value
    return result


fill_number = Op(
    "fill.Scalar(Tensor self, Scalar value)", _filled, {"self": zero_gradient}, node="FillBackward2", batch=LEADING,
    repeats=True, **_FILLING,
)  # fmt: skip
fill_tensor = Op(
    "fill.Tensor(Tensor self, Tensor value)",
    _filled,
    {"self": zero_gradient, "value": lambda g: g.sum()},
    node="FillBackward3", check_in_place=_check_filling,
    batch=lambda self, value: clone.apply(value.to(self.dtype).expand(self.shape), None), **_FILLING,
)  # fmt: skip
publish(fill_tensor, fill_number, names="fill", function=False, method=False, inplace=True)
put("fill_", numbers=True)


@published("fill(Tensor self, Operand value)", method=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like this one with one value everywhere."""
    return clone.apply(input, None).fill_(value)


zero = Op("zero(Tensor self)", _filled, {"self": zero_gradient}, batch=LEADING, repeats=True, **_FILLING)
publish(zero, function=False, method=False, inplace=True)
put("zero_", zeros=True)


describe(
    clone="A copy of the tensor, through which gradients flow.",
    copy_="The values of another tensor written into this one, broadcast and converted.",
    fill_="Every element set to a value.",
    zero_="Every element set to zero.",
)
