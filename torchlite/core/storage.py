"""Storages: the memory behind tensors, as bytes and as elements of one type.

Tensors hold arrays; a storage is made when someone asks for one, over the allocation that the array is part of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtype as dt
from .device import CPU, device, find_backend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tensor import Tensor


class UntypedStorage:
    """A stretch of memory, as bytes."""

    __slots__ = ("__weakref__", "backend", "bytes")

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        self.backend = find_backend[0](device or CPU)
        values = np.zeros(size, np.uint8) if isinstance(size, int) else np.array(size, np.uint8)
        self.bytes = self.backend.from_host(values)

    @classmethod
    def of(cls, t: Tensor) -> UntypedStorage:
        """The storage of a tensor."""
        self = object.__new__(cls)
        self.backend = t.backend.home
        self.bytes = self.backend.storage(t.array)
        return self

    @property
    def device(self) -> device:
        return self.backend.device

    def nbytes(self) -> int:
        return self.bytes.size

    size = __len__ = nbytes

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
            part = object.__new__(UntypedStorage)
            part.backend, part.bytes = self.backend, self.bytes[index]
            return part
        return int(self.backend.to_host(self.bytes)[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.backend.write(self.bytes[index if isinstance(index, slice) else slice(index, index + 1)], value)

    def fill_(self, value: int) -> UntypedStorage:
        self.backend.write(self.bytes, value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        self.backend.write(self.bytes, self.backend.from_host(source.backend.to_host(source.bytes)))
        return self

    def clone(self) -> UntypedStorage:
        made = object.__new__(UntypedStorage)
        made.backend, made.bytes = self.backend, self.backend.copy(self.bytes)
        return made

    def cpu(self) -> UntypedStorage:
        if self.device.type == "cpu":
            return self
        return UntypedStorage(self.backend.to_host(self.bytes))

    def resizable(self) -> bool:
        return False

    def is_shared(self) -> bool:
        return False

    def is_pinned(self, device: Any = None) -> bool:
        return False

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (self.data_ptr(), len(self)) == (other.data_ptr(), len(other))

    def __hash__(self) -> int:
        return hash((self.data_ptr(), len(self)))

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("torch", {})
        key = self.data_ptr()
        if key not in copies:
            copies[key] = self.clone()
        return copies[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return UntypedStorage, (self.backend.to_host(self.bytes),)

    def __repr__(self) -> str:
        where = f"device={self.device}"
        return _listing(self.tolist()) + f"[torch.storage.UntypedStorage({where}) of size {len(self)}]"


class TypedStorage:
    """A stretch of memory, as elements of one type."""

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> None:
        self.dtype = dtype or dt.get_default_dtype()
        if wrap_storage is None:
            count = args[0] if args else 0
            values = np.zeros(count, self.dtype.numpy) if isinstance(count, int) else np.array(count, self.dtype.numpy)
            wrap_storage = UntypedStorage(values.view(np.uint8), device=device)
        self._untyped_storage = wrap_storage

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
        return self.tolist()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        array = self._untyped_storage.as_array(self.dtype)
        self._untyped_storage.backend.write(
            array[index if isinstance(index, slice) else slice(index, index + 1)], value
        )

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def is_shared(self) -> bool:
        return False

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _typed_again, (self._untyped_storage, self.dtype)

    def __repr__(self) -> str:
        return (
            _listing(self.tolist())
            + f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        )


def _typed_again(storage: UntypedStorage, d: dt.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=d)


def _listing(values: list[Any]) -> str:
    return "".join(f" {v}\n" for v in values)


UntypedStorage.__module__ = TypedStorage.__module__ = "torchlite.storage"
