"""Checkpoints in folders: a file for each process, and one that says what is in them, written last."""

from __future__ import annotations

import contextlib
import io
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...absent import placeholders
from ...core.machine import Tensor, functions
from ...core.values.pickling import bear_name
from ...serialization import load as load_file
from ...serialization import save as save_file
from .._shard.sharded_tensor import ShardedTensor
from ..objects import all_gather_object
from . import metadata as about
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter"]
globals().update(placeholders("torch.distributed.checkpoint.filesystem", "FileSystem SerializationFormat"))


class CheckpointException(BaseException):
    """What went wrong with a checkpoint, in each process in which something did."""

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """The errors by ranks."""
        return self._failures

    def __str__(self) -> str:
        told = "".join(f"\n(RANK {rank}) {type(error).__name__}: {error}" for rank, error in self._failures.items())
        return f"CheckpointException ranks:{self._failures.keys()}{told}"


class FileSystemWriter:
    """Writes checkpoints into a folder."""

    def __init__(self, path: str | os.PathLike[str], *_: Any, **options: Any) -> None:
        self.path = Path(path)


class FileSystemReader:
    """Reads checkpoints from a folder."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint."""
        return about.read(self.path)


for _cls in (FileSystemReader, FileSystemWriter):
    bear_name(_cls, "torch.distributed.checkpoint.filesystem")
bear_name(CheckpointException, "torch.distributed.checkpoint.api")


class Piece(NamedTuple):
    """What one process has to save: a tensor, a piece of one, or an object."""

    name: str
    value: Any
    size: list[int] | None
    offsets: list[int]

    def key(self) -> tuple[str, tuple[int, ...]]:
        return self.name, tuple(self.offsets)

    def told(self) -> tuple[Any, ...]:
        """What other processes are told of it."""
        nbytes = self.value.numel() * self.value.element_size() if self.size is not None else 0
        return self.name, tuple(self.offsets), self.size, nbytes


def pieces_of(name: str, value: Any) -> list[Piece]:
    """What this process has of a tensor or an object."""
    if isinstance(value, ShardedTensor):
        return [
            Piece(name, shard.tensor.detach(), list(value.shape), list(shard.metadata.shard_offsets))
            for shard in value.local_shards()
        ]
    if isinstance(value, Tensor):
        return [Piece(name, value.detach(), list(value.shape), [0] * value.dim())]
    return [Piece(name, value, None, [])]


@contextlib.contextmanager
def together(group: Any) -> Iterator[list[Any]]:
    """What fails in one process fails in all: the list is filled with what each has to tell the others."""
    told: list[Any] = []
    wrong: Exception | None = None
    try:
        yield told
    except Exception as error:
        wrong = error
    everyones = gathered(([*told], wrong), group)
    failures = {rank: error for rank, (_, error) in enumerate(everyones) if error is not None}
    if failures:
        raise CheckpointException("CheckpointException", failures) from wrong
    told[:] = [each for each, _ in everyones]


def gathered(value: Any, group: Any) -> list[Any]:
    """What all processes have."""
    if group is None:
        return [value]
    everyones: list[Any] = [None] * group.size()
    all_gather_object(everyones, value, group)
    return everyones


def write(folder: Path, pieces: Sequence[Piece], group: Any) -> Metadata:
    """Write a checkpoint. What several processes have, the one writes that has least to write so far."""
    rank = 0 if group is None else group.rank()
    save_id = gathered(uuid.uuid4().hex[:8], group)[0]
    with together(group) as told:
        folder.mkdir(parents=True, exist_ok=True)
        told += [piece.told() for piece in pieces]
    writers = _shared_out(told)
    with together(group) as written:
        mine = {piece.key(): piece for piece in pieces if writers[piece.key()] == rank}
        written += _write_file(folder / f"__{rank}_{save_id}.distcp", list(mine.values()))
    metadata = Metadata()
    for name, size, entry in (each for several in written for each in several):
        if size is None:
            metadata.state_dict_metadata[name] = entry
        else:
            dtype, chunk = entry
            found = metadata.state_dict_metadata.setdefault(name, TensorStorageMetadata(dtype, size))
            found.chunks.append(chunk)  # type: ignore[union-attr]
    with together(group):
        if rank == 0:
            about.write_whole(folder, metadata)
            for file in folder.glob("__*.distcp"):  # of a checkpoint that was here before
                if file.name not in metadata.files():
                    file.unlink()
    return metadata


def _shared_out(told: Sequence[Sequence[tuple[Any, ...]]]) -> dict[Any, int]:
    """Who writes what."""
    holders: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    for rank, several in enumerate(told):
        for name, offsets, _, nbytes in several:
            holders.setdefault((name, offsets), []).append(rank)
            sizes[name, offsets] = nbytes
    load = [0] * len(told)
    writers = {}
    for key, ranks in holders.items():
        writers[key] = min(ranks, key=lambda rank: load[rank])
        load[writers[key]] += sizes[key]
    return writers


def _write_file(path: Path, pieces: Sequence[Piece]) -> list[Any]:
    entries: list[Any] = []
    if not pieces:
        return entries
    with path.open("wb") as file:
        for piece in pieces:
            begin = file.tell()
            content = io.BytesIO()
            save_file(piece.value.cpu().clone() if piece.size is not None else piece.value, content)
            file.write(content.getbuffer())
            where = path.name, begin, file.tell() - begin
            if piece.size is None:
                entries.append((piece.name, None, BytesStorageMetadata(*where)))
            else:
                chunk = ChunkStorageMetadata(piece.offsets, list(piece.value.shape), *where)
                entries.append((piece.name, piece.size, (str(piece.value.dtype), chunk)))
        file.flush()
        os.fsync(file.fileno())
    return entries


class Reader:
    """Reads the pieces of a checkpoint, each once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.metadata = folder, about.read(folder)
        self._last: tuple[Any, Any] = (None, None)

    def _content(self, path: str, offset: int, length: int) -> Any:
        if self._last[0] != (path, offset):
            with (self.folder / path).open("rb") as file:
                file.seek(offset)
                self._last = (path, offset), load_file(io.BytesIO(file.read(length)), weights_only=True)
        return self._last[1]

    def load(self, name: str, value: Any, put: Callable[[Any], None]) -> None:
        """Fill in a tensor, or the pieces that are here of one; put an object in another's place."""
        entry = self.metadata.state_dict_metadata.get(name)
        if entry is None:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if isinstance(entry, BytesStorageMetadata):
            put(self._content(entry.path, entry.offset, entry.length))
            return
        if not isinstance(value, (Tensor, ShardedTensor)):
            raise ValueError(f"{name} is a tensor in the checkpoint, but not in the state dict")
        if list(value.shape) != entry.size:
            raise ValueError(
                f"Size mismatch between saved {functions['empty'](entry.size, device='meta').shape} and current: "
                f"{value.shape} for {name}"
            )
        for piece in pieces_of(name, value):
            for chunk in entry.chunks:
                self._copy(piece, chunk)

    def _copy(self, piece: Piece, chunk: ChunkStorageMetadata) -> None:
        """Copy what a piece that is wanted and one that was saved have in common."""
        here, there = [], []
        for begin, size, from_begin, from_size in zip(
            piece.offsets, piece.value.shape, chunk.offsets, chunk.sizes, strict=True
        ):
            start, stop = max(begin, from_begin), min(begin + size, from_begin + from_size)
            if start >= stop and size and from_size:
                return
            here.append(slice(start - begin, stop - begin))
            there.append(slice(start - from_begin, stop - from_begin))
        saved = self._content(chunk.path, chunk.offset, chunk.length)
        piece.value[tuple(here)].copy_(saved[tuple(there)])
