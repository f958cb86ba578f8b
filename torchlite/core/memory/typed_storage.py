"""Storages of elements of one type, and the classes by dtype that were there before storages had one."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..machine import fitting_array
from ..values import CPU, DeviceLike, dt, errors, get_backend, shown_in, type_name, warn
from ..values.device import device
from .storage import _BYTE, UntypedStorage, _checked_size, _listing, in_range

_FORMS = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)


_always_warns = False


def _get_always_warn_typed_storage_removal() -> bool:
    """Whether each use of a storage with a dtype is warned of, and not the first alone."""
    return _always_warns


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Warn of each use of a storage with a dtype, or of the first alone."""
    global _always_warns
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type_name(always_warn)}")
    _always_warns = always_warn


def warn_typed_storage_removal() -> None:
    """Warn, once unless asked to do so always, that storages with a dtype will go."""
    if "TypedStorage" in errors.said_once and not _always_warns:  # whatever else is asked for each time
        return
    errors.said_once.add("TypedStorage")
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()"
    )


def _bytes(given: Any, d: dt.dtype) -> np.ndarray:
    """The memory of so many elements, or of those of a sequence."""
    if isinstance(given, (int, np.integer)):
        return np.zeros(_checked_size(int(given) * d.itemsize), np.uint8)
    if isinstance(given, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(given).__name__}'")
    if not isinstance(given, Sequence):
        raise TypeError(f"{_FORMS}Argument type not recognized: {type(given)}")
    wrong = next((item for item in given if item is None or isinstance(item, (str, bytes))), 0)
    if wrong != 0:
        raise TypeError(f"must be real number, not {type_name(wrong)}")
    if d.category == dt.INT:
        given = [fitting_array(item, d, get_backend(CPU)) for item in given]
    return np.array(given, d.numpy).ravel().view(np.uint8)


@shown_in("torch.storage")
class TypedStorage:
    """A stretch of memory, as elements of one type."""

    __slots__ = ("__weakref__", "_untyped_storage", "dtype")

    is_sparse = False

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: DeviceLike = None) -> None:
        self.dtype = dtype or dt.get_default_dtype()
        if not isinstance(self.dtype, dt.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        if wrap_storage is None:
            warn_typed_storage_removal()
            if len(args) > 1:
                raise RuntimeError(f"{_FORMS}Too many positional arguments")
            backend = get_backend(CPU if device is None else device)
            wrap_storage = UntypedStorage.over(backend.from_host(_bytes(args[0] if args else 0, self.dtype)), backend)
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"{_FORMS}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        self._untyped_storage = wrap_storage

    _dtype = property(lambda self: self.dtype)
    filename = property(operator.attrgetter("_untyped_storage.filename"))
    is_cuda = property(operator.attrgetter("_untyped_storage.is_cuda"))
    is_hpu = property(operator.attrgetter("_untyped_storage.is_hpu"))
    _cdata = property(operator.attrgetter("_untyped_storage._cdata"))

    def pickle_storage_type(self) -> str:
        """The name of the legacy class of storages of this dtype."""
        return storage_name(self.dtype)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's type; with a type, the elements converted to it."""
        kind = self.device.type
        if dtype is None:
            return f"torch.{storage_name(self.dtype)}" if kind == "cpu" else f"torch.{kind}.{storage_name(self.dtype)}"
        return _of_type(self, dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory without a type."""
        return self._untyped_storage

    @property
    def device(self) -> device:
        """The device on which the memory lies."""
        return self._untyped_storage.device

    def nbytes(self) -> int:
        """The bytes of all elements."""
        return len(self._untyped_storage)

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as a list of numbers."""
        host = self._untyped_storage._backend.to_host(self._untyped_storage.as_array(self.dtype))
        return (host.astype(np.float32) if host.dtype.kind == "V" else host).tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._check_index(index)
        return self.tolist()[in_range(index, self.size())]

    def _check_index(self, index: Any) -> None:
        if not hasattr(index, "__index__"):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check_index(index)
            at = in_range(index, self.size())
            index = slice(at, at + 1)
        if isinstance(value, str):
            raise TypeError(f"can't assign a str to a torch.{self.dtype.legacy}Tensor")
        self._untyped_storage._backend.write(self._untyped_storage.as_array(self.dtype)[index], value)

    def fill_(self, value: Any) -> TypedStorage:
        """Sets every element to a value."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Take over the bytes of another storage."""
        self._untyped_storage.copy_(source)
        return self

    def resizable(self) -> bool:
        """Whether the memory can be resized."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Give the memory room for so many elements, for all tensors and storages over it."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def is_pinned(self, device: DeviceLike = None) -> bool:
        """Whether the memory is pinned for transfers to a device."""
        return self._untyped_storage.is_pinned(device)

    def pin_memory(self, device: DeviceLike = None) -> TypedStorage:
        """A copy in pinned memory."""
        return typed_again(self._untyped_storage.pin_memory(device), self.dtype)

    def get_device(self) -> int | None:
        """The number of the CUDA device."""
        return self._untyped_storage.get_device()

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> TypedStorage:
        """This storage, or a copy of it, on a device."""
        return typed_again(self._untyped_storage.to(device=device), self.dtype)

    def is_shared(self) -> bool:
        """Whether other processes can share the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move to memory that is shared with other processes, together with all tensors over this storage."""
        self._untyped_storage.share_memory_()
        return self

    def cpu(self) -> TypedStorage:
        """A copy on the CPU, or the storage itself if it is there."""
        return typed_again(self._untyped_storage.cpu(), self.dtype)

    def cuda(self, device: DeviceLike = None, non_blocking: bool = False) -> TypedStorage:
        """A copy on a CUDA device, or the storage itself if it is there."""
        return typed_again(self._untyped_storage.cuda(device), self.dtype)

    def clone(self) -> TypedStorage:
        """A copy of the storage."""
        return typed_again(self._untyped_storage.clone(), self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return typed_again, (self._untyped_storage, self.dtype)

    def __repr__(self) -> str:
        about = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return (_listing(self.tolist()) if self.device.type != "meta" else "...\n") + about


for _name in (
    "data_ptr", "size", "nbytes", "element_size", "is_shared", "share_memory_", "resize_", "pickle_storage_type",
):  # fmt: skip
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, _name))


def _of_type(storage: UntypedStorage | TypedStorage, kind: Any) -> TypedStorage:
    """A storage converted to elements of another type, given as a class of storages or its name."""
    name = kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__
    if name not in STORAGES:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    return _converted(STORAGES[name].dtype)(storage)


def _type(self: UntypedStorage, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the storage's type; with a type, its elements converted to it."""
    if dtype is None:
        kind = self.device.type
        return f"torch.{'storage' if kind == 'cpu' else kind}.UntypedStorage"
    return _of_type(self, dtype)


def typed_again(storage: UntypedStorage, d: dt.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=d)


def _converted(d: dt.dtype) -> Any:
    def convert(self: UntypedStorage | TypedStorage) -> TypedStorage:
        array = self.untyped().as_array(self.dtype if isinstance(self, TypedStorage) else dt.uint8)
        backend = self.untyped()._backend
        return typed_again(UntypedStorage.over(backend.cast(array, d.numpy).view(_BYTE), backend), d)

    convert.__doc__ = f"A copy with elements of {d}."
    return convert


for _name, _dtype in {
    "bool": dt.bool_, "byte": dt.uint8, "char": dt.int8, "short": dt.int16, "int": dt.int32, "long": dt.int64,
    "half": dt.float16, "bfloat16": dt.bfloat16, "float": dt.float32, "double": dt.float64,
    "complex_float": dt.complex64, "complex_double": dt.complex128,
    "float8_e4m3fn": dt.float8_e4m3fn, "float8_e5m2": dt.float8_e5m2,
    "float8_e4m3fnuz": dt.float8_e4m3fnuz, "float8_e5m2fnuz": dt.float8_e5m2fnuz,
}.items():  # fmt: skip
    for _cls in (UntypedStorage, TypedStorage):
        _method = _converted(_dtype)
        _method.__name__, _method.__qualname__ = _name, f"{_cls.__name__}.{_name}"
        setattr(_cls, _name, _method)
UntypedStorage.type = _type  # type: ignore[attr-defined]


class _OfDtype(type):
    """The type of `torch.FloatStorage` and its kin: called, it makes a TypedStorage; `isinstance` tells by dtype."""

    dtype: dt.dtype

    def __call__(
        cls, *args: Any, wrap_storage: Any = None, dtype: None = None, device: None = None, _internal: bool = False
    ) -> TypedStorage:
        wrong = "Too many positional arguments" if len(args) > 1 else None
        for keyword, value in (("dtype", dtype), ("device", device)):
            if value is not None:
                wrong = f"Keyword argument '{keyword}' cannot be specified"
        if wrong:
            raise RuntimeError(
                f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
                f" * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{wrong}"
            )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, storage: Any) -> bool:
        return type(storage) is TypedStorage and storage.dtype is cls.dtype

    def from_buffer(cls, buffer: Any, byte_order: str = "", count: int = -1, offset: int = 0) -> TypedStorage:
        """A copy of a buffer of elements in this byte order, which matters unless they are bytes."""
        if not byte_order:
            if cls.dtype.itemsize > 1:
                raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
            byte_order = "native"
        raw = UntypedStorage.from_buffer(buffer, byte_order, dtype=cls.dtype, count=count, offset=offset)
        return typed_again(raw, cls.dtype)

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first `size` elements of a file, mapped."""
        return typed_again(UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize), cls.dtype)

    def _new_shared(cls, size: int, *, device: DeviceLike = "cpu") -> TypedStorage:
        """Zeros in memory that is shared with other processes."""
        return typed_again(UntypedStorage._new_shared(size * cls.dtype.itemsize, device=device), cls.dtype)


def storage_name(d: dt.dtype) -> str:
    """The name of the class of storages of a dtype; of dtypes younger than such classes, that of bytes."""
    return f"{d.legacy}Storage" if d.has_storage else "UntypedStorage"


STORAGES: dict[str, Any] = {
    storage_name(d): _OfDtype(
        storage_name(d), (), {"dtype": d, "__module__": "torch", "__doc__": f"Storages with elements of {d}."}
    )
    for d in (*dt.DTYPES, *dt.QUANTIZED)
    if d.has_storage
}
