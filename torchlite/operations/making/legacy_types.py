"""`torch.Tensor(...)` as a constructor, and the legacy tensor types such as `torch.FloatTensor`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...backends.base import get_backend
from ...backends.sparse import layout_name
from ...core.declare import method, published
from ...core.machine import Tensor, TensorBase, as_class, functions, wrap
from ...core.memory import TypedStorage, UntypedStorage
from ...core.state import is_watched, local
from ...core.values import CPU, Backend, Size, dt, get_default_device, strided, type_name
from ...core.values.device import device
from ..shapes.shape import alias
from .copy import convert
from .factories import settled, uninitialized
from .factory import lifted, refuse_compressed
from .host_data import host_data
from .storages import over_storage

_FORMS = (
    " * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
    " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)"
)
_KEYWORDS: dict[str, Any] = {
    "size": (list, tuple), "data": object, "other": TensorBase, "storage": (UntypedStorage, TypedStorage),
}  # fmt: skip


def constructed(
    args: tuple[Any, ...], named: dict[str, Any], d: dt.dtype, own: device, any_dtype: bool = False
) -> Tensor:
    """A tensor from sizes, a sequence of values, a storage, or another tensor (of `any_dtype`?), on `own` device."""
    where = named.pop("device", None)
    if where is not None and device(where).type != own.type:
        raise RuntimeError(f"legacy constructor expects device type: {own.type} but device type: {where} was passed")
    keyword = next((k for k, kinds in _KEYWORDS.items() if k in named and isinstance(named[k], kinds)), None)
    if keyword == "size" and any([n.__class__ is bool for n in named["size"]]):
        keyword = None
    if keyword and not args:
        first = named.pop(keyword)
        if keyword == "data" and (isinstance(first, TensorBase) or not hasattr(first, "__len__")):
            raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
        args = (Size(first) if keyword == "size" else first,)
    sized = len(args) > 1 and hasattr(args[0], "__index__")
    if named or (len(args) > 1 and not sized):
        got = [*map(type_name, args), *[f"{name}={type_name(value)}" for name, value in named.items()]]
        given = ", ".join(got) + ", " * (not args)
        raise TypeError(
            f"new() received an invalid combination of arguments - got ({given}), but expected one of:\n{_FORMS}"
        )
    backend = get_backend(where or own)
    if not args:
        return _uninitialized((0,), d, backend)
    first = args[0]
    if sized:
        for at, n in enumerate(args):
            if not hasattr(n, "__index__"):
                raise TypeError(
                    f"new(): argument 'size' failed to unpack the object at pos {at + 1} with error \"type must be "
                    f'tuple of ints,but got {type_name(n)}"'
                )
        return _uninitialized([n.__index__() for n in args], d, backend)
    if isinstance(first, (UntypedStorage, TypedStorage)):
        if isinstance(first, TypedStorage) and first.dtype is not d:
            raise RuntimeError(
                f"Expected a Storage of type {d.legacy} or an UntypedStorage, but got type {first.dtype.legacy} for "
                "argument 1 'storage'"
            )
        s = first.untyped()
        return over_storage(s, d, 0, (len(s) // d.itemsize,), (1,))
    if isinstance(first, TensorBase):
        alike = first.dtype is d and first.device.type == own.type and first.layout is strided
        if not alike and not any_dtype:
            other = _options(first.dtype, first.device, layout_name(first))
            raise TypeError(f"expected {_options(d, own)} (got {other})")
        if first.layout is not strided:
            first.stride(), first.untyped_storage()  # it is asked for both, and has not both
        return alias.apply(first)
    if isinstance(first, Size):
        return _uninitialized(first, d, backend)
    if hasattr(first, "__index__") and not isinstance(first, (bool, np.ndarray)):
        return _uninitialized((first.__index__(),), d, backend)
    if isinstance(first, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
    if not hasattr(first, "__len__") or isinstance(first, (dict, set)):
        raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
    array, d = host_data(first, d)
    return lifted(wrap, backend.from_host(array), d, backend)


def _uninitialized(size: Any, d: dt.dtype, backend: Backend) -> Tensor:
    """Memory as it is; modes see that it is made, of sizes alone."""
    if not is_watched():
        return settled(uninitialized(size, d, backend))
    make: Any = functools.partial(functions["empty"], size, dtype=d, layout=strided, device=backend.device)
    return local.state.mode.seer.composite(make, ())  # type: ignore[union-attr]


def _options(d: dt.dtype, where: device, laid: str = "Strided") -> str:
    return (
        f"TensorOptions(dtype={d.cname}, device={where}, layout={laid}, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def _new(cls: type, *args: Any, **named: Any) -> Tensor:
    return as_class(constructed(args, named, dt.get_default_dtype(), CPU, any_dtype=True), cls)


Tensor.__new__ = _new  # type: ignore[method-assign]


@method("new")
def new(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """A tensor of this one's type, from sizes or values."""
    for bit, key in ((self.is_conj(), "Conjugate"), (self.is_neg(), "Negative")):
        if bit:
            raise RuntimeError(f"DispatchKey {key} doesn't correspond to a device")
    refuse_compressed(self)
    if self.is_sparse:
        return TYPES[self.type()].new(*args, **named)
    return constructed(args, named, self.dtype, self.device)


class tensortype(type):  # as PyTorch calls it
    """The type of `torch.FloatTensor` and its kin: called, it makes a tensor; `isinstance` asks dtype and device."""

    dtype: dt.dtype
    kind: str

    is_cuda = property(lambda cls: cls.kind == "cuda")
    layout = strided
    is_sparse = False

    def __call__(cls, *args: Any, **named: Any) -> Tensor:
        cls.check_available()
        return cls.new(*args, **named)

    def new(cls, *args: Any, **named: Any) -> Tensor:
        """What a tensor of the type has as `new`."""
        return constructed(args, named, cls.dtype, device(cls.kind))

    def check_available(cls) -> None:
        try:
            get_backend(cls.kind)
        except AssertionError as error:
            raise TypeError(f"type {cls.__module__}.{cls.__name__} not available. {error}.") from None

    def __instancecheck__(cls, t: Any) -> bool:
        fits = isinstance(t, TensorBase) and t.dtype is cls.dtype and t.device.type == cls.kind
        return fits and t.layout is cls.layout

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


TYPES: dict[str, tensortype] = {}
for _d in dt.DTYPES:
    if _d.promotable and not _d.is_complex:
        for _kind, _module in (("cpu", "torch"), ("cuda", "torch.cuda")):
            _doc = f"Tensors of {_d} on the device {_kind}: an older form of `torch.tensor(..., dtype={_d})`."
            _of = {"dtype": _d, "kind": _kind, "__module__": _module, "__doc__": _doc}
            _made = tensortype(f"{_d.legacy}Tensor", (), _of)
            TYPES[f"{_module}.{_d.legacy}Tensor"] = _made
            if _kind == "cpu":
                functions[f"{_d.legacy}Tensor"] = _made


_PYTHON = (bool, int, float, complex)
_WITHOUT_CLASS = {f"torch.{d.legacy}Tensor": d for d in dt.DTYPES}  # names that mean a dtype where there is no class


@published(
    "type(Tensor self, any dtype=None, bool non_blocking=False, *, MemoryFormat? memory_format=None) -> any",
    function=False,
)
def type_(self: Tensor, dtype: Any, non_blocking: bool, memory_format: Any) -> Any:
    """The name of this tensor's legacy type; with `dtype`, this tensor as that."""
    if dtype is None:
        module = "torch" if self.is_cpu else f"torch.{self.device.type}"
        if self.is_sparse:
            module += ".sparse"
        return f"{module}.{self.dtype.legacy}Tensor"
    if isinstance(dtype, str):
        if dtype not in TYPES and dtype not in _WITHOUT_CLASS:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = TYPES.get(dtype) or _WITHOUT_CLASS[dtype]
    if dtype is Tensor:
        dtype = TYPES[f"torch.{dt.get_default_dtype().legacy}Tensor"]
    if dtype in _PYTHON:
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    if not isinstance(dtype, (tensortype, dt.dtype)):
        raise TypeError("dtype must be a type, str, or dtype object")
    if isinstance(dtype, tensortype):
        where = get_default_device() if dtype.kind == "cpu" else get_backend(dtype.kind).device
        return convert(self, dtype.dtype, where)
    return convert(self, dtype, None)
