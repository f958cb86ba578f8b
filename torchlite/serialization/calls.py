"""What a pickle may call when only weights are to be loaded, with which arguments, and what that costs.

Each function stands beside a check, which pays for the call and refuses arguments that do not fit.
"""

from __future__ import annotations

import _codecs
import collections
import pickle
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .. import _utils
from ..core.machine import Tensor
from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import Size, dt
from ..core.values.device import device
from ..core.values.layout import _get_layout, layout, sparse_coo
from ..core.values.schemes import qscheme
from ..faces.graphs import _DimRange
from ..nested._internal.nested_tensor import _rebuild_njt
from ..nn.parameter import Parameter
from ..operations.making.pickles import _rebuild_from_type_v2
from .bounds import Bounds
from .messages import shown

Check = Callable[[Bounds, tuple[Any, ...]], None]

_OBJECT = 128  # bytes, about, that an object takes
_TABLE = 256  # an empty one of any kind
_TENSOR = 768
_ATTRIBUTE = 128
_SCANNED = 64  # bytes of a storage that are looked at while one is made


# ---- of plain values


def _fit(args: tuple[Any, ...], *forms: tuple[Any, ...]) -> None:
    """Refuse arguments that are of none of these forms."""
    for form in forms:
        if len(args) == len(form) and all([isinstance(a, kind) for a, kind in zip(args, form)]):
            return
    raise pickle.UnpicklingError(f"arguments of unexpected types: {[type(a).__name__ for a in args]}")


_SIZED = (str, bytes, bytearray, list, tuple, dict)
_WIDEST_ITEM = 8


def _plain(*forms: tuple[Any, ...]) -> Check:
    """Arguments of these forms, of which no more than a copy is made."""

    def check(bounds: Bounds, args: tuple[Any, ...]) -> None:
        _fit(args, *forms)
        bounds.pay(_OBJECT + _WIDEST_ITEM * sum([len(a) for a in args if isinstance(a, _SIZED)]))

    return check


_TEXT_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8", "utf8")


def _text(*forms: tuple[Any, ...]) -> Check:
    """The same, where a second string names an encoding."""
    plain = _plain(*forms)

    def check(bounds: Bounds, args: tuple[Any, ...]) -> None:
        plain(bounds, args)
        if len(args) == 2 and args[1] not in _TEXT_ENCODINGS:
            raise pickle.UnpicklingError(f"the encoding {args[1]!r} is not one of {', '.join(_TEXT_ENCODINGS)}")

    return check


# ---- of tables


def _table(*forms: tuple[Any, ...]) -> Check:
    """Nothing, or the keys that are to be in the table."""

    def check(bounds: Bounds, args: tuple[Any, ...]) -> None:
        _fit(args, (), *forms)
        bounds.pay(_TABLE)
        if args:
            bounds.enter(args[0], args[0])

    return check


def _ordered(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """Nothing, a dictionary, or a list of pairs."""
    _fit(args, (), (list,), (dict,))
    bounds.pay(_TABLE)
    if args:
        pairs = args[0].items() if isinstance(args[0], dict) else args[0]
        if not all([isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs]):
            raise pickle.UnpicklingError("an ordered dictionary is made of pairs")
        bounds.enter([key for key, _ in pairs], args[0])


# ---- of tensors


def _pay_for_geometry(bounds: Bounds, size: Any, stride: Any) -> None:
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise pickle.UnpicklingError("the sizes and strides of a tensor must be tuples")
    bounds.pay(_TENSOR + _WIDEST_ITEM * (len(size) + len(stride)))


def pay_for_tensor(bounds: Bounds, storage: Any, d: Any, size: Any, stride: Any) -> None:
    """Pay for a tensor of this dtype over part of a storage."""
    if not isinstance(storage, (TypedStorage, UntypedStorage)):
        raise pickle.UnpicklingError(f"a tensor is made of a storage, and not of {shown(storage)}")
    _pay_for_geometry(bounds, size, stride)
    if d is dt.bool_ and storage.dtype is not d:  # type: ignore[union-attr]  # then its bytes are looked at
        bounds.pay(storage.nbytes() // _SCANNED)


def _located(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """A storage, and where in it a tensor is."""
    storage, _, size, stride, *_ = args
    pay_for_tensor(bounds, storage, getattr(storage, "dtype", None), size, stride)


def _located_as(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """The same, and a dtype."""
    storage, _, size, stride, _, _, d, *_ = args
    _fit((d,), (dt.dtype,))
    pay_for_tensor(bounds, storage, d, size, stride)


def _without_memory(bounds: Bounds, args: tuple[Any, ...]) -> None:
    _fit(args, (dt.dtype, object, object, object))
    _, size, stride, _ = args
    _pay_for_geometry(bounds, size, stride)


def _parameter(*forms: tuple[Any, ...]) -> Check:
    def check(bounds: Bounds, args: tuple[Any, ...]) -> None:
        _fit(args, *forms)
        bounds.pay(_TENSOR)

    return check


def _parameter_with_state(bounds: Bounds, args: tuple[Any, ...]) -> None:
    _fit(args, (Tensor, bool, object, object))
    bounds.pay(_TENSOR)
    _state(bounds, args[3])


def _state(bounds: Bounds, state: Any) -> None:
    """Attributes, or those and what is in slots."""
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    for part in parts:
        if part:
            if not isinstance(part, dict) or not all([isinstance(name, str) for name in part]):
                raise pickle.UnpicklingError("the state of a tensor must be a dictionary of its attributes")
            bounds.pay(_ATTRIBUTE * len(part))


def _moved(bounds: Bounds, args: tuple[Any, ...]) -> None:
    _fit(args, (Tensor, dt.dtype, (str, device), object), (np.ndarray, dt.dtype, (str, device), object))
    data, d, _, _ = args
    bounds.pay(_TENSOR)
    bounds.make(data.nbytes // data.itemsize * max(data.itemsize, d.itemsize))  # which may be expanded


def _sparse(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """A layout, and the parts of a sparse tensor with its size; its invariants are checked as it is made."""
    _fit(args, (layout, tuple))
    _fit((args[1],), (tuple,))
    *_, values, size = args[1][: 3 if args[0] is sparse_coo else 4]
    if not all([isinstance(part, Tensor) for part in args[1][: 2 if args[0] is sparse_coo else 3]]):
        raise pickle.UnpicklingError("a sparse tensor is made of tensors")
    _pay_for_geometry(bounds, size, ())
    bounds.pay(_TENSOR)
    bounds.make(values.nbytes)


def _quantized(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """A storage of integers, where in it a tensor is, and what they stand for."""
    storage, _, size, stride, told, *_ = args
    pay_for_tensor(bounds, storage, None, size, stride)
    if getattr(storage, "dtype", None) not in dt.QUANTIZED:
        raise pickle.UnpicklingError(f"a quantized tensor is made of integers, and not of {shown(storage)}")
    _fit((told,), (tuple,))
    _fit(told, (qscheme, _number, int), (qscheme, Tensor, Tensor, int))
    channels = [t for t in told if isinstance(t, Tensor)]
    if channels and not (
        -1 < told[3] < len(size) and all([t.dim() == 1 and t.numel() == size[told[3]] for t in channels])
    ):
        raise pickle.UnpicklingError("the scales and zero points do not fit the size of a quantized tensor")


def _nested(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """The elements of components, and where in these each has its own."""
    _fit(args, (Tensor, Tensor, Tensor, Tensor))
    _, sizes, strides, starts = args
    fits = sizes.shape == strides.shape and sizes.dim() <= 2 and starts.shape == sizes.shape[:1]
    if not fits or any([t.dtype is not dt.int64 for t in args[1:]]):
        raise pickle.UnpicklingError("the parts of a nested tensor do not fit together")
    bounds.pay(_TENSOR * (1 + starts.numel()) + 2 * _OBJECT * sizes.numel())


_JAGGED = {
    "values": Tensor, "offsets": Tensor, "lengths": (Tensor, type(None)), "_ragged_idx": int, "_metadata_cache": dict,
    "requires_grad": bool,
}  # fmt: skip


def _jagged(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """The parts of a nested tensor, by name; its lengths may be computed."""
    _fit(args, (dict,))
    parts = args[0]
    _fit(tuple([parts.get(name) for name in _JAGGED]), tuple(_JAGGED.values()))
    told = parts["_metadata_cache"]
    if parts["offsets"].dim() != 1 or not 0 < parts["_ragged_idx"] <= parts["values"].dim():
        raise pickle.UnpicklingError("the parts of a nested tensor do not fit together")
    if not all([isinstance(t, Tensor) and t.dim() for t in told.values()]):
        raise pickle.UnpicklingError("the bounds of a nested tensor are the sizes of tensors")
    bounds.pay(_TENSOR + _OBJECT * (len(_JAGGED) + len(told)))
    bounds.make(parts["offsets"].nbytes)


_number = (int, float)


def _refused(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """Anything: the function itself says that there are no such tensors."""


def _retyped(bounds: Bounds, args: tuple[Any, ...]) -> None:
    """How to rebuild a tensor, and the class and state it has then."""
    func, cls, inner, state = args
    rebuilt = _REBUILD_CHECKS.get(func) if isinstance(func, FunctionType) else None
    if rebuilt is None or not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {shown(func)}")
    _fit((inner,), (tuple,))
    rebuilt(bounds, inner)
    bounds.pay(_TENSOR)
    if getattr(cls, "__setstate__", None) == Tensor.__setstate__:  # others are of classes that the user allows
        _state(bounds, state)


_REBUILDERS: dict[str, tuple[Any, Check]] = {
    "torch._utils._rebuild_tensor": (_utils._rebuild_tensor, _located),
    "torch._utils._rebuild_tensor_v2": (_utils._rebuild_tensor_v2, _located),
    "torch._utils._rebuild_tensor_v3": (_utils._rebuild_tensor_v3, _located_as),
    "torch._utils._rebuild_meta_tensor_no_storage": (_utils._rebuild_meta_tensor_no_storage, _without_memory),
    "torch._utils._rebuild_parameter": (_utils._rebuild_parameter, _parameter((Tensor, bool, object))),
    "torch._utils._rebuild_parameter_with_state": (_utils._rebuild_parameter_with_state, _parameter_with_state),
    "torch._utils._rebuild_device_tensor_from_numpy": (_utils._rebuild_device_tensor_from_numpy, _moved),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": (_utils._rebuild_device_tensor_from_cpu_tensor, _moved),
    "torch._utils._rebuild_qtensor": (_utils._rebuild_qtensor, _quantized),
    "torch._utils._rebuild_sparse_tensor": (_utils._rebuild_sparse_tensor, _sparse),
    "torch._utils._rebuild_nested_tensor": (_utils._rebuild_nested_tensor, _nested),
    "torch._utils._rebuild_wrapper_subclass": (_utils._rebuild_wrapper_subclass, _refused),
    "torch.nested._internal.nested_tensor._rebuild_njt": (_rebuild_njt, _jagged),
}
_REBUILD_CHECKS: dict[Any, Check] = dict(_REBUILDERS.values())

CALLS: dict[str, tuple[Any, Check]] = {
    "collections.OrderedDict": (collections.OrderedDict, _ordered),
    "collections.Counter": (collections.Counter, _table((dict,))),
    "_codecs.encode": (_codecs.encode, _text((str, str))),
    "builtins.bytearray": (bytearray, _text((), (bytes,), (bytearray,), (str, str))),
    "builtins.set": (set, _table((list,))),
    "builtins.complex": (complex, _plain((), (_number,), (_number, _number))),
    "torch.Size": (Size, _plain((tuple,), (list,))),
    "torch.device": (device, _plain((str,), (str, int))),
    "torch.nn.parameter.Parameter": (Parameter, _parameter((Tensor,), (Tensor, bool))),
    "torch._dynamo.decorators._DimRange": (_DimRange, _plain(())),
    "torch.serialization._get_layout": (_get_layout, _plain((str,))),
    "torch._tensor._rebuild_from_type_v2": (_rebuild_from_type_v2, _retyped),
    **_REBUILDERS,
}
CHECKS: dict[Any, Check] = dict(CALLS.values())


def check_of(func: Callable[..., Any]) -> Check | None:
    """The check of what may be called; None for all else, of which not even the hash is asked."""
    return CHECKS.get(func) if isinstance(func, (type, FunctionType, BuiltinFunctionType)) else None
