"""What a pickle may name when only weights are to be loaded.

Every name is written out here: no module that grows makes this list longer. It is PyTorch's own list,
with what PyTorch adds for nested tensors once `torch.nested` and `torch._dynamo` are imported.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor
from ..core.memory import TypedStorage, UntypedStorage
from ..core.values import dt
from ..core.values.schemes import SCHEMES
from ..nested._internal.nested_tensor import NestedTensor
from ..operations.making.legacy_types import TYPES
from .calls import CALLS
from .names import name_of, storage_type

BLOCKED_MODULES = frozenset(("sys", "os", "posix", "nt"))


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
    **{name: function for name, (function, _) in CALLS.items()},
    "torch.Tensor": Tensor,
    "torch.nested._internal.nested_tensor.NestedTensor": NestedTensor,
    "torch.storage.TypedStorage": TypedStorage,
    "torch.storage.UntypedStorage": UntypedStorage,
    **_under("torch", _DTYPES, _of_dtype),
    **_under("torch", _STORAGES + _QUANTIZED_STORAGES, _of_storage),
    **_under("torch.cuda", _STORAGES, _of_storage),
    **_under("torch", "BoolTensor" + _TENSORS, TYPES.__getitem__),
    **_under("torch.cuda", "BoolTensor" + _TENSORS, TYPES.__getitem__),
    **_under("torch.sparse", _TENSORS, TYPES.__getitem__),
    **_under("torch.cuda.sparse", _TENSORS, TYPES.__getitem__),
    **_under("torch", _SCHEMES, lambda full: SCHEMES[full.removeprefix("torch.")]),
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
