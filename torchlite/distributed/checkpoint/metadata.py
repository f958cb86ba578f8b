"""What a checkpoint says of itself: which tensors and objects there are, and where their pieces lie."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...core.machine import Tensor
from ...core.values import contiguous_format, dt, strided
from ...core.values.pickling import bear_name, reduce_ex, reduce_member

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
    "TensorStorageMetadata",
]  # fmt: skip


class _MEM_FORMAT_ENCODING(Enum):
    """The number that stands for a memory format."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: where it begins, and how large it is."""

    offsets: Any
    sizes: Any


@dataclass
class TensorProperties:
    """What is kept of a tensor besides its size."""

    dtype: Any = field(default_factory=dt.get_default_dtype)
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> Any:
        encoded = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        return self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory

    def __setstate__(self, state: Any) -> None:
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor: its size, and its pieces."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object that is no tensor."""


@dataclass
class StorageMeta:
    """Of where a checkpoint lies, and of the call that wrote it."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """What is in a checkpoint, by the names that nested keys make when they are joined by dots."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """An object, or the piece of a tensor that begins somewhere; `index` says where to look for it first."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)


for _cls in (
    ChunkStorageMetadata, TensorProperties, TensorStorageMetadata, BytesStorageMetadata, StorageMeta, Metadata,
    MetadataIndex, _MEM_FORMAT_ENCODING,
):  # fmt: skip
    bear_name(_cls, "torch.distributed.checkpoint.metadata")
    _cls.__reduce_ex__ = reduce_member if issubclass(_cls, Enum) else reduce_ex  # type: ignore[method-assign]
