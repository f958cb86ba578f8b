"""Storages: the memory behind tensors, as bytes and as elements of one type.

Tensors hold arrays; a storage is made when someone asks for one, over the allocation that the array is part of.
"""

from __future__ import annotations

import mmap
import operator
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine.operands import fitting_array
from ..machine.tensor import TensorBase, wrap
from ..values import dtype as dt
from ..values.arrays import Backend, DeviceLike
from ..values.device import CPU, device, find_backend
from ..values.device import device as _device  # which a parameter is called too
from ..values.errors import type_name, warn_once
from .relocation import StorageBase, resize, share
from .shared_memory import SharedPages, movable, pages_behind, root

if TYPE_CHECKING:
    from ..machine.tensor import Tensor


_BYTE = np.dtype(np.uint8)


class UntypedStorage(StorageBase):
    """A stretch of memory, as bytes."""

    __slots__ = ("__dict__", "__weakref__", "backend", "bytes")

    is_sparse = is_sparse_csr = False

    def __init__(self, size: Any = 0, *, device: DeviceLike = None) -> None:
        self.backend = find_backend[0](CPU if device is None else device)
        if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
            self.bytes = self.backend.full((_checked_size(int(size)),), 0, _BYTE)
        elif isinstance(size, (dict, TensorBase)) or not hasattr(size, "__getitem__"):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type_name(size)}")
        else:
            for item in size:
                if not isinstance(item, int):
                    raise RuntimeError(
                        f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(size).__name__}),"
                        f" but one of the items was of type {type(item).__name__} instead of int"
                    )
            self.bytes = self.backend.from_host(np.array(list(size), np.int64).astype(np.uint8))

    @classmethod
    def over(cls, memory: Any, backend: Backend = None) -> UntypedStorage:
        """A storage over a flat array of bytes."""
        self = object.__new__(cls)
        self.backend = backend or find_backend[0](CPU)
        self.bytes = memory
        return self

    @classmethod
    def of(cls, t: Tensor) -> UntypedStorage:
        """The storage of a tensor."""
        home = t.backend.home
        return cls.over(home.storage(t.array), home)

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str = "native", *, dtype: dt.dtype | None = None, count: int = -1,
        offset: int = 0,
    ) -> UntypedStorage:  # fmt: skip
        """A copy of a buffer that holds elements of `dtype` in this byte order ("native", "little" or "big")."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        view = memoryview(buffer).cast("B")
        size, item = len(view), dtype.itemsize
        if not 0 <= offset <= size:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({offset}) , but got {size}"
            )
        if count < 0 and (size - offset) % item:
            raise ValueError(f"buffer size ({size}) must be a multiple of element size ({item})")
        stop = size if count < 0 else offset + count * item
        if stop > size:
            raise ValueError(f"buffer has only {size} elements after offset {offset}, but specified a size of {count}")
        made = cls.over(np.frombuffer(view[offset:stop], np.uint8).copy())
        if byte_order not in ("native", sys.byteorder):
            made.byteswap(dtype)
        return made

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, mapped. If `shared`, writes go to the file, which is made as long as is needed."""
        return cls.over(mapped(filename, shared, nbytes))

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """Zeros in memory that is shared with other processes."""
        return cls(size, device=device).share_memory_()

    @property
    def device(self) -> device:
        return self.backend.device

    def nbytes(self) -> int:
        return self.bytes.size

    size = __len__ = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        return self.backend.pointer(self.bytes) if self.bytes.size else 0

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def untyped(self) -> UntypedStorage:
        return self

    def as_array(self, d: dt.dtype) -> Any:
        """The memory as a flat array of one type."""
        return self.bytes[: self.bytes.size // d.itemsize * d.itemsize].view(d.numpy)

    def tolist(self) -> list[int]:
        return self.backend.to_host(self.bytes).tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage.over(self.bytes[_without_step(index)], self.backend)
        if not hasattr(index, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        return int(self.backend.to_host(self.bytes)[in_range(index, self.nbytes())])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if isinstance(index, slice):
            part = _without_step(index)
        elif hasattr(index, "__index__"):
            if not -self.nbytes() <= index < self.nbytes():
                raise RuntimeError("out of bounds")
            part = slice(index % self.nbytes(), index % self.nbytes() + 1)
        else:
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        self.backend.write(self.bytes[part], value & 255)

    def fill_(self, value: int) -> UntypedStorage:
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self.backend.write(self.bytes, value & 255)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        source = source.untyped()
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self.backend.write(self.bytes, self.backend.from_host(source.backend.to_host(source.bytes)))
        return self

    def clone(self) -> UntypedStorage:
        return UntypedStorage.over(self.backend.copy(self.bytes), self.backend)

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> UntypedStorage:
        """This storage, or a copy of it, on a device."""
        backend = find_backend[0](device)
        if backend is self.backend:
            return self
        return UntypedStorage.over(backend.bring(self.bytes, self.backend), backend)

    def cpu(self) -> UntypedStorage:
        return self.to(device=CPU)

    def cuda(self, device: DeviceLike = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device=_device("cuda", device))

    def new(self) -> UntypedStorage:
        return UntypedStorage(device=self.device)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        kind = self.device.type
        if dtype is None:
            return f"torch.{'storage' if kind == 'cpu' else kind}.UntypedStorage"
        return _of_type(self, dtype)

    def byteswap(self, dtype: dt.dtype) -> None:
        """Reverse the bytes of each element (of each half, for complex numbers)."""
        if not isinstance(dtype, dt.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        unit = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if unit > 1:
            self.bytes[: self.bytes.size // unit * unit].view(f"u{unit}").byteswap(inplace=True)

    def resizable(self) -> bool:
        """Whether the memory is this process's own and no others' than tensors', and on the host."""
        return movable(self.bytes)

    def resize_(self, size: int) -> UntypedStorage:
        """Give the memory another size, for all tensors and storages over it. What there is no room for is gone."""
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
            raise RuntimeError(f"resize_ expects an int, but got {type_name(size)}")
        resize(self, _checked_size(int(size)))
        return self

    def is_shared(self) -> bool:
        return self.is_cuda or pages_behind(self.bytes) is not None

    def share_memory_(self) -> UntypedStorage:
        """Move to memory that is shared with other processes, together with all tensors over this storage."""
        share(self)
        return self

    @property
    def filename(self) -> str | None:
        """The file whose pages it shares."""
        pages = pages_behind(self.bytes)
        return pages and pages.filename

    def is_pinned(self, device: DeviceLike = None) -> bool:
        return wrap(self.bytes, dt.uint8, self.backend).is_pinned(device)

    def pin_memory(self, device: DeviceLike = None) -> UntypedStorage:
        return UntypedStorage.of(wrap(self.bytes, dt.uint8, self.backend).pin_memory(device))

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_hpu(self) -> bool:
        return self.device.type == "hpu"

    def get_device(self) -> int | None:
        return self.device.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (self.data_ptr(), len(self)) == (other.data_ptr(), len(other))

    def __hash__(self) -> int:
        return hash((self.data_ptr(), len(self)))

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("torch", {})
        key = self.data_ptr()
        if not key:
            return self.clone()
        if key not in copies:
            copies[key] = self.clone()
        return copies[key]

    def __reduce__(self) -> tuple[Any, ...]:
        host = self.backend.to_host(self.bytes)
        owner = root(host)  # one object for all storages over it, and so are they again
        return _untyped_again, (owner if owner.nbytes == host.nbytes else host, self.device)

    def __repr__(self) -> str:
        where = f"device={self.device}"
        return _listing(self.tolist()) + f"[torch.storage.UntypedStorage({where}) of size {len(self)}]"


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
        given = [fitting_array(item, d, find_backend[0](CPU)) for item in given]
    return np.array(given, d.numpy).ravel().view(np.uint8)


def _checked_size(nbytes: int) -> int:
    if nbytes < 0:
        raise RuntimeError(f"a storage cannot have a negative number of bytes, {nbytes}")
    return nbytes


def _without_step(part: slice) -> slice:
    if part.step not in (None, 1):
        raise RuntimeError(f"Trying to slice with a step of {part.step}, but only a step of 1 is supported")
    return part


def in_range(index: int, size: int) -> int:
    """The place of an index, which may count from the end."""
    at = index + size if index < 0 else index
    if not 0 <= at < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return at


def warn_typed_storage_removal() -> None:
    """Warn, once, that storages with a dtype will go."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()"
    )


def mapped(filename: Any, shared: bool, nbytes: int) -> np.ndarray:
    """The first bytes of a file as an array; what is written to it stays in memory unless `shared`."""
    path = os.fspath(filename)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o666)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from None
    try:
        size = os.fstat(descriptor).st_size
        if size < nbytes:
            if not shared:
                raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
            os.ftruncate(descriptor, nbytes)
        if not nbytes:
            return np.empty(0, np.uint8)
        if shared:
            return SharedPages(os.dup(descriptor), nbytes, path).array(0, nbytes)
        pages = mmap.mmap(descriptor, nbytes, access=mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    return np.frombuffer(pages, np.uint8)


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
            backend = find_backend[0](device or CPU)
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
        kind = self.device.type
        if dtype is None:
            return f"torch.{storage_name(self.dtype)}" if kind == "cpu" else f"torch.{kind}.{storage_name(self.dtype)}"
        return _of_type(self, dtype)

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    @property
    def device(self) -> device:
        return self._untyped_storage.device

    def nbytes(self) -> int:
        return len(self._untyped_storage)

    def size(self) -> int:
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        host = self._untyped_storage.backend.to_host(self._untyped_storage.as_array(self.dtype))
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
        self._untyped_storage.backend.write(self._untyped_storage.as_array(self.dtype)[index], value)

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Take over the bytes of another storage."""
        self._untyped_storage.copy_(source)
        return self

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Give the memory room for so many elements, for all tensors and storages over it."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def is_pinned(self, device: DeviceLike = None) -> bool:
        return self._untyped_storage.is_pinned(device)

    def pin_memory(self, device: DeviceLike = None) -> TypedStorage:
        return _typed_again(self._untyped_storage.pin_memory(device), self.dtype)

    def get_device(self) -> int | None:
        return self._untyped_storage.get_device()

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> TypedStorage:
        """This storage, or a copy of it, on a device."""
        return _typed_again(self._untyped_storage.to(device=device), self.dtype)

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move to memory that is shared with other processes, together with all tensors over this storage."""
        self._untyped_storage.share_memory_()
        return self

    def cpu(self) -> TypedStorage:
        return _typed_again(self._untyped_storage.cpu(), self.dtype)

    def cuda(self, device: DeviceLike = None, non_blocking: bool = False) -> TypedStorage:
        return _typed_again(self._untyped_storage.cuda(device), self.dtype)

    def clone(self) -> TypedStorage:
        return _typed_again(self._untyped_storage.clone(), self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _typed_again, (self._untyped_storage, self.dtype)

    def __repr__(self) -> str:
        about = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return (_listing(self.tolist()) if self.device.type != "meta" else "...\n") + about


for _name in (
    "data_ptr", "size", "nbytes", "element_size", "is_shared", "share_memory_", "resize_", "pickle_storage_type",
):  # fmt: skip
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, _name))


_FORMS = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)


def _of_type(storage: UntypedStorage | TypedStorage, kind: Any) -> TypedStorage:
    """A storage converted to elements of another type, given as a class of storages or its name."""
    name = kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__
    if name not in STORAGES:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    return _converted(STORAGES[name].dtype)(storage)


def _typed_again(storage: UntypedStorage, d: dt.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=d)


def _untyped_again(owner: np.ndarray, where: device) -> UntypedStorage:
    return UntypedStorage.over(owner.ravel("K").view(np.uint8)).to(device=where)


def _converted(d: dt.dtype) -> Any:
    def convert(self: UntypedStorage | TypedStorage) -> TypedStorage:
        array = self.untyped().as_array(self.dtype if isinstance(self, TypedStorage) else dt.uint8)
        backend = self.untyped().backend
        return _typed_again(UntypedStorage.over(backend.cast(array, d.numpy).view(_BYTE), backend), d)

    return convert


for _name, _dtype in {
    "bool": dt.bool_, "byte": dt.uint8, "char": dt.int8, "short": dt.int16, "int": dt.int32, "long": dt.int64,
    "half": dt.float16, "bfloat16": dt.bfloat16, "float": dt.float32, "double": dt.float64,
    "complex_float": dt.complex64, "complex_double": dt.complex128,
    "float8_e4m3fn": dt.float8_e4m3fn, "float8_e5m2": dt.float8_e5m2,
    "float8_e4m3fnuz": dt.float8_e4m3fnuz, "float8_e5m2fnuz": dt.float8_e5m2fnuz,
}.items():  # fmt: skip
    for _cls in (UntypedStorage, TypedStorage):
        setattr(_cls, _name, _converted(_dtype))


# ---- classes by dtype, as before storages had one


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
        return _typed_again(raw, cls.dtype)

    def from_file(cls, filename: Any, shared: bool = False, size: int = 0) -> TypedStorage:
        """The first `size` elements of a file, mapped."""
        return _typed_again(UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize), cls.dtype)

    def _new_shared(cls, size: int, *, device: Any = "cpu") -> TypedStorage:
        """Zeros in memory that is shared with other processes."""
        return _typed_again(UntypedStorage._new_shared(size * cls.dtype.itemsize, device=device), cls.dtype)


def storage_name(d: dt.dtype) -> str:
    """The name of the class of storages of a dtype; of dtypes younger than such classes, that of bytes."""
    return f"{d.legacy}Storage" if d.promotable else "UntypedStorage"


STORAGES: dict[str, Any] = {
    storage_name(d): _OfDtype(storage_name(d), (), {"dtype": d, "__module__": "torch"})
    for d in dt.DTYPES
    if d.promotable
}


def _listing(values: list[Any]) -> str:
    return "".join(f" {v}\n" for v in values)


UntypedStorage.__module__ = TypedStorage.__module__ = "torch.storage"
