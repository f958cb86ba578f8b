"""`torch.distributed.checkpoint`: states that several processes save together, and load shared out otherwise."""

from __future__ import annotations

from ...absent import placeholders
from ...faces import later
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

_ABSENT = ("HuggingFaceStorageReader", "HuggingFaceStorageWriter", "load_sharded_optimizer_state_dict")
globals().update(placeholders("torch.distributed.checkpoint", " ".join(_ABSENT)))
__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan",
    "SavePlanner", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load",
    "load_state_dict", "save", "save_state_dict", *_ABSENT,
]  # fmt: skip

__getattr__ = later(__name__, "format_utils", "state_dict", "stateful")
