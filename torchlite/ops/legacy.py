"""`torch.Tensor(...)` as a constructor, and the legacy tensor types such as `torch.FloatTensor`."""

from __future__ import annotations

from typing import Any

from ..backends.base import get_backend
from ..core import dtype as dt
from ..core.device import CPU, get_default_device
from ..core.publish import functions, method
from ..core.size import Size
from ..core.storage import TypedStorage, UntypedStorage
from ..core.tensor import Tensor, TensorBase, as_class, wrap
from .copy import convert
from .host import host_data
from .memory import over_storage


def constructed(args: tuple[Any, ...], d: dt.dtype, backend: Any) -> Tensor:
    """A tensor from sizes, a sequence of values, a storage, or another tensor."""
    if not args:
        return wrap(backend.empty((0,), d.numpy), d, backend)
    first = args[0]
    if isinstance(first, (UntypedStorage, TypedStorage)):
        s = first.untyped()
        return over_storage(s, d, 0, (len(s) // d.itemsize,), (1,))
    if isinstance(first, TensorBase):
        if first.dtype is not d:
            raise TypeError(f"expected TensorOptions(dtype={d.cname}) (got TensorOptions(dtype={first.dtype.cname}))")
        return first.alias()
    if isinstance(first, Size) and len(args) == 1:
        return wrap(backend.empty(tuple(first), d.numpy), d, backend)
    if all(isinstance(n, int) for n in args):
        return wrap(backend.empty(args, d.numpy), d, backend)
    if isinstance(first, str):
        raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
    if not hasattr(first, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    array, d = host_data(first, d)
    return wrap(backend.from_host(array), d, backend)


def _new(cls: type, *args: Any, dtype: Any = None, device: Any = None, **named: Any) -> Tensor:
    data = named.pop("data", None)
    args = args if data is None else (data, *args)
    made = constructed(args, dtype or dt.get_default_dtype(), get_backend(device or get_default_device()))
    return as_class(made, cls)


Tensor.__new__ = _new  # type: ignore[method-assign]


@method("new")
def new(self: Tensor, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """A tensor of this one's type, from sizes or values."""
    return constructed(args, self.dtype, get_backend(device or self.device))


class _LegacyType(type):
    """The type of `torch.FloatTensor` and its kin: called, it makes a tensor; `isinstance` asks dtype and device."""

    dtype: dt.dtype
    kind: str

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return constructed(args, cls.dtype, get_backend(device or (CPU if cls.kind == "cpu" else cls.kind)))

    def __instancecheck__(cls, t: Any) -> bool:
        return isinstance(t, TensorBase) and t.dtype is cls.dtype and t.device.type == cls.kind

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


TYPES: dict[str, _LegacyType] = {}
for _d in dt.DTYPES:
    if _d.promotable and not _d.is_complex:
        for _kind, _module in (("cpu", "torch"), ("cuda", "torch.cuda")):
            _made = _LegacyType(f"{_d.legacy}Tensor", (), {"dtype": _d, "kind": _kind, "__module__": _module})
            TYPES[f"{_module}.{_d.legacy}Tensor"] = _made
            if _kind == "cpu":
                functions[f"{_d.legacy}Tensor"] = _made  # type: ignore[assignment]


@method("type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """The name of this tensor's legacy type; with `dtype`, this tensor as that."""
    if dtype is None:
        module = "torch" if self.is_cpu else f"torch.{self.device.type}"
        return f"{module}.{self.dtype.legacy}Tensor"
    if isinstance(dtype, str):
        if dtype not in TYPES:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = TYPES[dtype]
    if isinstance(dtype, _LegacyType):
        where = get_default_device() if dtype.kind == "cpu" else get_backend(dtype.kind).device
        return convert(self, dtype.dtype, where)
    return convert(self, dtype, None)
