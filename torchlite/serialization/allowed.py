"""What a pickle may name and call when only weights are to be loaded.

Every name is written out here: no module that grows makes this list longer. It is PyTorch's own list.
"""

from __future__ import annotations

import _codecs
import collections
import pickle
from collections.abc import Callable
from typing import Any

from .. import _utils
from .._tensor import _rebuild_from_type_v2
from ..core import dtype as dt
from ..core.device import device
from ..core.layout import NAMES as LAYOUTS
from ..core.layout import layout
from ..core.size import Size
from ..core.storage import TypedStorage, UntypedStorage
from ..core.tensor import Tensor
from ..nn.parameter import Parameter
from ..ops.legacy import TYPES
from .names import Missing, name_of, storage_type

BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))


def _get_layout(name: str) -> layout:
    """The layout that is shown as `name`."""
    found = LAYOUTS.get(name.removeprefix("torch."))
    if not isinstance(found, layout):
        raise pickle.UnpicklingError(f"there is no layout {name}")
    return found


# ---- what may be called, and with what: each check gives the number of items that the call copies


def _is(args: tuple[Any, ...], *forms: tuple[Any, ...]) -> bool:
    return any(
        len(args) == len(form) and all(isinstance(a, kind) for a, kind in zip(args, form, strict=True))
        for form in forms
    )


def _copies(*forms: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], int]:
    def check(args: tuple[Any, ...]) -> int:
        if not _is(args, *forms):
            raise pickle.UnpicklingError(f"arguments of unexpected types: {[type(a).__name__ for a in args]}")
        return sum([len(a) for a in args if isinstance(a, _SIZED)])

    return check


_SIZED = (str, bytes, bytearray, list, tuple, dict)
_TEXT_ENCODINGS = ("latin1", "latin-1", "ascii", "utf-8", "utf8")


def _text(*forms: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], int]:
    """The same, where a last string names an encoding."""
    copied = _copies(*forms)

    def check(args: tuple[Any, ...]) -> int:
        size = copied(args)
        if len(args) == 2 and args[1] not in _TEXT_ENCODINGS:
            raise pickle.UnpicklingError(f"the encoding {args[1]!r} is not one of {', '.join(_TEXT_ENCODINGS)}")
        return size

    return check


def _retyped(args: tuple[Any, ...]) -> int:
    func, type_, inner, _ = args
    if (
        func not in _REBUILD_CHECKS
        or not (isinstance(type_, type) and issubclass(type_, Tensor))
        or not isinstance(inner, tuple)
    ):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
    return _REBUILD_CHECKS[func](inner)


def _moved(args: tuple[Any, ...]) -> int:
    return args[0].nbytes  # more than there is in the file, if it is expanded


def _anything(args: tuple[Any, ...]) -> int:
    return 0


_number = (int, float)

Check = Callable[[tuple[Any, ...]], int]

_REBUILDERS: dict[str, tuple[Any, Check]] = {
    "torch._utils._rebuild_tensor": (_utils._rebuild_tensor, _anything),
    "torch._utils._rebuild_tensor_v2": (_utils._rebuild_tensor_v2, _anything),
    "torch._utils._rebuild_tensor_v3": (_utils._rebuild_tensor_v3, _anything),
    "torch._utils._rebuild_meta_tensor_no_storage": (_utils._rebuild_meta_tensor_no_storage, _anything),
    "torch._utils._rebuild_parameter": (_utils._rebuild_parameter, _anything),
    "torch._utils._rebuild_parameter_with_state": (_utils._rebuild_parameter_with_state, _anything),
    "torch._utils._rebuild_device_tensor_from_numpy": (_utils._rebuild_device_tensor_from_numpy, _moved),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": (_utils._rebuild_device_tensor_from_cpu_tensor, _moved),
    "torch._utils._rebuild_qtensor": (_utils._rebuild_qtensor, _anything),
    "torch._utils._rebuild_sparse_tensor": (_utils._rebuild_sparse_tensor, _anything),
    "torch._utils._rebuild_nested_tensor": (_utils._rebuild_nested_tensor, _anything),
    "torch._utils._rebuild_wrapper_subclass": (_utils._rebuild_wrapper_subclass, _anything),
}
_REBUILD_CHECKS: dict[Any, Check] = dict(_REBUILDERS.values())

_CALLS: dict[str, tuple[Any, Check]] = {
    "collections.OrderedDict": (collections.OrderedDict, _copies((), (list,), (dict,))),
    "collections.Counter": (collections.Counter, _copies((), (dict,))),
    "_codecs.encode": (_codecs.encode, _text((str, str))),
    "builtins.bytearray": (bytearray, _text((), (bytes,), (bytearray,), (str, str))),
    "builtins.set": (set, _copies((), (list,))),
    "builtins.complex": (complex, _copies((), (_number,), (_number, _number))),
    "torch.Size": (Size, _copies((tuple,), (list,))),
    "torch.device": (device, _copies((str,), (str, int))),
    "torch.nn.parameter.Parameter": (Parameter, _copies((Tensor,), (Tensor, bool))),
    "torch.serialization._get_layout": (_get_layout, _copies((str,))),
    "torch._tensor._rebuild_from_type_v2": (_rebuild_from_type_v2, _retyped),
    **_REBUILDERS,
}
CHECKS: dict[Any, Check] = dict(_CALLS.values())


# ---- what may be named


def _under(module: str, names: str, find: Callable[[str], Any]) -> dict[str, Any]:
    return {f"{module}.{name}": find(f"{module}.{name}") for name in names.split()}


def _of_dtype(full: str) -> Any:
    return dt.NAMES[full.removeprefix("torch.")]


def _of_storage(full: str) -> Any:
    return storage_type(*full.rsplit(".", 1))


_DTYPES = """
    bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64
    complex32 complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    float4_e2m1fn_x2 qint8 quint8 qint32 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16
    int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7
"""
_STORAGES = """
    BoolStorage ByteStorage CharStorage ShortStorage IntStorage LongStorage HalfStorage BFloat16Storage FloatStorage
    DoubleStorage ComplexFloatStorage ComplexDoubleStorage
"""
_QUANTIZED_STORAGES = "QInt8Storage QInt32Storage QUInt8Storage QUInt4x2Storage QUInt2x4Storage"
_TENSORS = """
    ByteTensor CharTensor ShortTensor IntTensor LongTensor HalfTensor BFloat16Tensor FloatTensor DoubleTensor
"""
_SCHEMES = """
    per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric per_channel_affine_float_qparams
"""

_NAMED: dict[str, Any] = {
    **{name: function for name, (function, _) in _CALLS.items()},
    "torch.Tensor": Tensor,
    "torch.storage.TypedStorage": TypedStorage,
    "torch.storage.UntypedStorage": UntypedStorage,
    **_under("torch", _DTYPES, _of_dtype),
    **_under("torch", _STORAGES + _QUANTIZED_STORAGES, _of_storage),
    **_under("torch.cuda", _STORAGES, _of_storage),
    **_under("torch", "BoolTensor" + _TENSORS, TYPES.__getitem__),
    **_under("torch.cuda", "BoolTensor" + _TENSORS, TYPES.__getitem__),
    **_under("torch.sparse", _TENSORS, Missing),
    **_under("torch.cuda.sparse", _TENSORS, Missing),
    **_under("torch", _SCHEMES, Missing),
}


_users: list[Any] = []  # callables, and pairs of one and a name


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that are loaded with `weights_only=True` name these classes and functions.

    An item may be a pair of such an object and the full name that files have for it.
    """
    for item in safe_globals:
        if item not in _users:
            _users.append(item)


def get_safe_globals() -> list[Any]:
    """What was added by `add_safe_globals`."""
    return list(_users)


def clear_safe_globals() -> None:
    """Forget what was added by `add_safe_globals`."""
    _users.clear()


class safe_globals:
    """What `add_safe_globals` does, until the end of a context."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = safe_globals

    def __enter__(self) -> None:
        self.before = list(_users)
        add_safe_globals(self.added)

    def __exit__(self, *_: object) -> None:
        _users[:] = self.before


def users() -> dict[str, Any]:
    """What was added by `add_safe_globals`, by name."""
    found = {}
    for item in _users:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), but got {item}")
            obj, name = item
            if not isinstance(name, str):
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got {name}")
            found[name] = obj
        else:
            found[_full_name(item)] = item
    return found


def _full_name(obj: Any) -> str:
    try:
        torchs = name_of(obj)
    except pickle.PicklingError:
        torchs = None
    return ".".join(torchs or (obj.__module__, obj.__qualname__))


def lookup(name: str) -> Any:
    """What is always allowed under a name; KeyError if nothing is."""
    return _NAMED[name]


def names() -> frozenset[str]:
    """All names that are always allowed."""
    return frozenset(_NAMED)
