"""What a checkpoint says of itself: which tensors and objects there are, and where their pieces lie."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...absent import placeholders
from ...core.values.pickling import bear_name, reduce_ex

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorStorageMetadata"]
globals().update(
    placeholders("torch.distributed.checkpoint.metadata", "MetadataIndex StorageMeta TensorProperties")
)

FILE = ".metadata"


@dataclass
class ChunkStorageMetadata:
    """A piece of a tensor: where it begins, how large it is; the file in which it lies, from where, how long."""

    offsets: list[int]
    sizes: list[int]
    path: str = ""
    offset: int = 0
    length: int = 0


@dataclass
class TensorStorageMetadata:
    """A tensor: its dtype, its size, its pieces."""

    dtype: str
    size: list[int]
    chunks: list[ChunkStorageMetadata] = field(default_factory=list)


@dataclass
class BytesStorageMetadata:
    """An object that is no tensor: where it lies."""

    path: str = ""
    offset: int = 0
    length: int = 0


@dataclass
class Metadata:
    """What is in a checkpoint, by the names that nested keys make when they are joined by dots."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata] = field(default_factory=dict)

    def files(self) -> set[str]:
        """The files that it speaks of."""
        found: set[str] = set()
        for entry in self.state_dict_metadata.values():
            found.update(chunk.path for chunk in getattr(entry, "chunks", [entry]))
        return found


for _cls in (ChunkStorageMetadata, TensorStorageMetadata, BytesStorageMetadata, Metadata):
    bear_name(_cls, "torch.distributed.checkpoint.metadata")
    _cls.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]


def write_whole(folder: Path, metadata: Metadata) -> None:
    """Write what makes the files in a folder a checkpoint: all at once, when everything else is on the disk."""
    text = json.dumps({name: asdict(entry) for name, entry in metadata.state_dict_metadata.items()})
    beside = folder / f"{FILE}.tmp"
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / FILE)


def read(folder: Path) -> Metadata:
    """What a folder holds, if a checkpoint in it was written to its end."""
    entries = json.loads((folder / FILE).read_text())
    found = Metadata()
    for name, entry in entries.items():
        if "chunks" in entry:
            chunks = [ChunkStorageMetadata(**chunk) for chunk in entry["chunks"]]
            found.state_dict_metadata[name] = TensorStorageMetadata(entry["dtype"], entry["size"], chunks)
        else:
            found.state_dict_metadata[name] = BytesStorageMetadata(**entry)
    return found
