"""`torch.distributed.checkpoint`: states that several processes save together, and load shared out otherwise."""

from __future__ import annotations

import importlib
from typing import Any

from ...absent import placeholders
from ...faces import later
from .filesystem import CheckpointException, FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .state_dict_loader import load
from .state_dict_saver import async_save, save

_ABSENT = (
    "DefaultLoadPlanner DefaultSavePlanner HuggingFaceStorageReader HuggingFaceStorageWriter LoadPlan LoadPlanner "
    "ReadItem SavePlan SavePlanner StorageReader StorageWriter WriteItem load_sharded_optimizer_state_dict "
    "load_state_dict save_state_dict"
)
globals().update(placeholders("torch.distributed.checkpoint", _ABSENT))
__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "FileSystemReader", "FileSystemWriter",
    "Metadata", "TensorStorageMetadata", "async_save", "load", "save", *_ABSENT.split(),
]  # fmt: skip

_face = later(__name__)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}") if name in ("state_dict", "stateful") else _face(name)
