"""Plans: what each process writes of a state, or reads into it; and who makes them."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ...core.machine import Tensor
from ...core.values.pickling import bear_name, reduce_ex, reduce_member
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
    "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(Enum):
    """A whole tensor, a piece of one, or an object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """A tensor, or an object."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How long an object is in a file."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A piece, and the tensor that it is of."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """Something to be written."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """How many bytes a tensor has; None of an object."""
        data = self.tensor_data
        return None if data is None else data.chunk.sizes.numel() * data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Something to be read: which part of what was written, and to where in what."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Says what is written: each process plans its part, the first looks over all plans, each gives the data."""

    @abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Begin with a state."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process has to write."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process shall write, and what the checkpoint says of itself."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take this process's plan."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """What is written for an item."""


class LoadPlanner:
    """Says what is read: each process plans its part, the first looks over all plans, each takes the data."""

    @abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Begin with a state to be filled."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process wants to read."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process shall read."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take this process's plan."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take an object, as it was written."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where an object's bytes are read to."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The tensor that is filled for an item."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """The tensor of an item has been filled."""


for _name in __all__:
    _cls = globals()[_name]
    bear_name(_cls, "torch.distributed.checkpoint.planner")
    _cls.__reduce_ex__ = reduce_member if issubclass(_cls, Enum) else reduce_ex
