"""Where checkpoints lie: what writers and readers of them do."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ...core.values import bear_name, reduce_ex
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """What was written: how many bytes it has, and where it lies."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class _Storage(ABC):
    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin with another checkpoint."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this may be the place of a checkpoint."""


class StorageWriter(_Storage):
    """Writes what a planner gives."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin to write."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """A process's plan, with what the storage has to add."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """All plans, with what the storage has to add."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write the items of a plan; a future of the results."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make what all have written a checkpoint."""

    def storage_meta(self) -> StorageMeta | None:
        """What is known of the storage."""
        return None


class StorageReader(_Storage):
    """Reads what a planner wants."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint says of itself."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin to read."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """A process's plan, with what the storage has to add."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """All plans, with what the storage has to add."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """Read the items of a plan; a future that is done when they are read."""


for _cls in (StorageReader, StorageWriter, WriteResult):
    bear_name(_cls, "torch.distributed.checkpoint.storage")
WriteResult.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]
