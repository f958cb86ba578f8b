"""Storages: the memory behind tensors, as bytes and as elements of one type.

Tensors hold arrays; a storage is made when someone asks for one, over the allocation that the array is part of.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine import TensorBase, wrap
from ..values import CPU, Backend, DeviceLike, dt, get_backend, shown_in, type_name
from ..values.device import device
from ..values.device import device as _device  # which a parameter is called too
from .relocation import StorageBase, resize, share
from .shared_memory import SharedPages, movable, pages_behind, root

if TYPE_CHECKING:
    from ..machine.tensor import Tensor


_BYTE = np.dtype(np.uint8)


@shown_in("torch.storage")
class UntypedStorage(StorageBase):
    """A stretch of memory, as bytes."""

    __slots__ = ("__dict__", "__weakref__", "_backend", "bytes")

    is_sparse = is_sparse_csr = False

    def __init__(self, size: Any = 0, *, device: DeviceLike = None) -> None:
        self._backend = get_backend(CPU if device is None else device)
        if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
            self.bytes = self._backend.full((_checked_size(int(size)),), 0, _BYTE)
        elif isinstance(size, (dict, TensorBase)) or not hasattr(size, "__getitem__"):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type_name(size)}")
        else:
            for item in size:
                if not isinstance(item, int):
                    raise RuntimeError(
                        f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(size).__name__}),"
                        f" but one of the items was of type {type(item).__name__} instead of int"
                    )
            self.bytes = self._backend.from_host(np.array(list(size), np.int64).astype(np.uint8))

    @classmethod
    def over(cls, memory: Any, backend: Backend | None = None) -> UntypedStorage:
        """A storage over a flat array of bytes."""
        self = object.__new__(cls)
        self._backend = backend or get_backend(CPU)
        self.bytes = memory
        return self

    @classmethod
    def of(cls, t: Tensor) -> UntypedStorage:
        """The storage of a tensor."""
        home, array = t._backend.home if t._backend.shows else t._backend.real, t._array
        if home.handed or home.quantized:
            home, array = home.behind(array)
        return cls.over(home.storage(array), home)  # sparse ones say that there is none

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
    def _new_shared(cls, size: int, *, device: DeviceLike = "cpu") -> UntypedStorage:
        """Zeros in memory that is shared with other processes."""
        return cls(size, device=device).share_memory_()

    @property
    def device(self) -> device:
        """The device on which the memory lies."""
        return self._backend.device

    def nbytes(self) -> int:
        """The bytes of the memory."""
        return self.bytes.size

    size = __len__ = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """The bytes of one element: 1."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._backend.pointer(self.bytes) if self.bytes.size else 0

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def as_array(self, d: dt.dtype) -> Any:
        """The memory as a flat array of one type."""
        return self.bytes[: self.bytes.size // d.itemsize * d.itemsize].view(d.numpy)

    def tolist(self) -> list[int]:
        """The bytes as a list of numbers."""
        return self._backend.to_host(self.bytes).tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage.over(self.bytes[_without_step(index)], self._backend)
        if not hasattr(index, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        return int(self._backend.to_host(self.bytes)[in_range(index, self.nbytes())])

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
        self._backend.write(self.bytes[part], value & 255)

    def fill_(self, value: int) -> UntypedStorage:
        """Sets every byte to a value."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._backend.write(self.bytes, value & 255)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Copies the bytes of another storage into this one."""
        source = source.untyped()
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._backend.write(self.bytes, self._backend.from_host(source._backend.to_host(source.bytes)))
        return self

    def clone(self) -> UntypedStorage:
        """A copy of the storage."""
        return UntypedStorage.over(self._backend.copy(self.bytes), self._backend)

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> UntypedStorage:
        """This storage, or a copy of it, on a device."""
        backend = get_backend(device)
        if backend is self._backend:
            return self
        return UntypedStorage.over(backend.bring(self.bytes, self._backend), backend)

    def cpu(self) -> UntypedStorage:
        """A copy on the CPU, or the storage itself if it is there."""
        return self.to(device=CPU)

    def cuda(self, device: DeviceLike = None, non_blocking: bool = False) -> UntypedStorage:
        """A copy on a CUDA device, or the storage itself if it is there."""
        where: Any = device
        return self.to(device=_device("cuda", where))

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(device=self.device)

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
        """Whether other processes can share the memory."""
        return self.is_cuda or pages_behind(self.bytes) is not None

    def share_memory_(self) -> UntypedStorage:
        """Move to memory that is shared with other processes, together with all tensors over this storage."""
        share(self)
        return self

    @property
    def filename(self) -> str | None:
        """The file whose pages it shares."""
        pages = pages_behind(self.bytes)
        return None if pages is None else pages.filename

    def is_pinned(self, device: DeviceLike = None) -> bool:
        """Whether the memory is pinned for transfers to a device."""
        return wrap(self.bytes, dt.uint8, self._backend).is_pinned(device)

    def pin_memory(self, device: DeviceLike = None) -> UntypedStorage:
        """A copy in pinned memory."""
        return UntypedStorage.of(wrap(self.bytes, dt.uint8, self._backend).pin_memory(device))

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_hpu(self) -> bool:
        """Whether the memory is on an HPU."""
        return self.device.type == "hpu"

    def get_device(self) -> int | None:
        """The number of the CUDA device."""
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
        host = self._backend.to_host(self.bytes)
        owner = root(host)  # one object for all storages over it, and so are they again
        return _untyped_again, (owner if owner.nbytes == host.nbytes else host, self.device)

    def __repr__(self) -> str:
        where = f"device={self.device}"
        return _listing(self.tolist()) + f"[torch.storage.UntypedStorage({where}) of size {len(self)}]"


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


def _untyped_again(owner: np.ndarray, where: device) -> UntypedStorage:
    return UntypedStorage.over(owner.ravel("K").view(np.uint8)).to(device=where)


def _listing(values: list[Any]) -> str:
    return "".join(f" {v}\n" for v in values)
