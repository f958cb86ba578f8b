"""Checkpoints in folders: files for each process, and one that says what is in them, written last."""

from __future__ import annotations

import io
import os
import pickle
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...absent import placeholders
from ...core.values import bear_name, reduce_ex, shown_in, warn
from ...futures import Future
from ...serialization import load as load_file
from ...serialization import save as save_file
from ...serialization.names import find
from ...serialization.pickler import pickler
from .metadata import Metadata, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItem, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter"]
globals().update(placeholders("torch.distributed.checkpoint.filesystem", "FileSystem SerializationFormat"))

_METADATA = ".metadata"


@dataclass
class _StorageInfo:
    """Where something lies: in which file, from where, how long."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


@dataclass
class _StoragePrefix:
    """How the files of a process are called: the prefix, then numbers from `first` on."""

    prefix: str
    first: int = 0


for _cls in (_StorageInfo, _StoragePrefix):
    bear_name(_cls, "torch.distributed.checkpoint.filesystem")
    _cls.__reduce_ex__ = reduce_ex  # type: ignore[method-assign]


class _InFolder:
    path: Path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return isinstance(checkpoint_id, Path) or "://" not in str(checkpoint_id)


@shown_in("torch.distributed.checkpoint.filesystem")
class FileSystemWriter(_InFolder, StorageWriter):
    """Writes checkpoints into a folder. One that was there before is whole until the new one is."""

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True,
        thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False,
        overwrite: bool = True, _extensions: Any = None, serialization_format: Any = None,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        super().reset(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        if (self.path / _METADATA).exists():
            if not self.overwrite:
                raise RuntimeError("Checkpoint already exists and self.overwrite=False.")
            warn(
                f"Detected an existing checkpoint in {self.path / _METADATA}, overwriting since self.overwrite=True. "
                "Past version 2.5 of PyTorch, `overwrite` will default to False. Set this variable to True to maintain "
                "this functionality or False to raise when an existing checkpoint is found."
            )
        numbers = [int(file.stem.rpartition("_")[2]) for file in self.path.glob("__*_*.distcp")]
        first = max(numbers, default=-1) + 1
        return [replace(plan, storage_data=_StoragePrefix(f"__{rank}_", first)) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        prefix = plan.storage_data
        items = sorted(plan.items, key=lambda item: item.type is not WriteItemType.BYTE_IO)
        count = self.thread_count if self.single_file_per_rank else len(items)
        parts = [part for part in (items[at :: max(count, 1)] for at in range(count)) if part]
        names = [f"{prefix.prefix}{prefix.first + number}.distcp" for number in range(len(parts))]
        with ThreadPoolExecutor(max(self.thread_count, 1)) as threads:
            written = list(threads.map(lambda name, part: self._write_file(name, part, planner), names, parts))
        done: Future = Future()
        done.set_result([result for several in written for result in several])
        return done

    def _write_file(self, name: str, items: Sequence[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        results = []
        with (self.path / name).open("wb") as file:
            for item in items:
                data = planner.resolve_data(item)
                if not isinstance(data, io.BytesIO):
                    content = io.BytesIO()
                    save_file(data.detach().cpu().clone(), content)
                    data = content
                begin = file.tell()
                file.write(data.getbuffer())
                where = _StorageInfo(name, begin, file.tell() - begin)
                results.append(WriteResult(item.index, where.length, where))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {each.index: each.storage_data for several in results for each in several}
        metadata.storage_meta = self.storage_meta()
        beside = self.path / f"{_METADATA}.tmp"
        with beside.open("wb") as file:
            pickler(file, pickle, 4, lambda _: None).dump(metadata)
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(self.path / _METADATA)
        kept = {info.relative_path for info in metadata.storage_data.values()}
        for former in self.path.glob("__*_*.distcp"):  # of a checkpoint that was here before
            if former.name not in kept:
                former.unlink()

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(self.checkpoint_id, self.save_id)


class _MetadataUnpickler(pickle.Unpickler):
    """Finds what describes checkpoints, and nothing that does something."""

    def find_class(self, module: str, name: str) -> Any:
        known = module in ("torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem")
        of_torch = module == "torch" or (module, name) == ("torch.serialization", "_get_layout")
        if known or of_torch:
            found = find(module, name)
            if not known or found.__module__ == module:
                return found
        if module in ("pathlib", "pathlib._local") or (module, name) == ("collections", "OrderedDict"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"a checkpoint's metadata may not name {module}.{name}")


@shown_in("torch.distributed.checkpoint.filesystem")
class FileSystemReader(_InFolder, StorageReader):
    """Reads checkpoints from a folder."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.path = Path(path)
        self.storage_data: dict[Any, Any] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        super().reset(checkpoint_id)
        self.storage_data = {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        with (self.path / _METADATA).open("rb") as file:
            return _MetadataUnpickler(file).load()

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        by_place: dict[Any, list[Any]] = {}
        for item in plan.items:
            info = self.storage_data[item.storage_index]
            by_place.setdefault((info.relative_path, info.offset, info.length), []).append(item)
        for (name, offset, length), items in sorted(by_place.items()):
            with (self.path / name).open("rb") as file:
                file.seek(offset)
                content = file.read(length)
            self._hand_over(content, items, planner)
        done: Future = Future()
        done.set_result(None)
        return done

    def _hand_over(self, content: bytes, items: Sequence[Any], planner: LoadPlanner) -> None:
        loaded = None
        for item in items:
            if item.type is LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO(content))
                continue
            if loaded is None:
                loaded = load_file(io.BytesIO(content), map_location="cpu", weights_only=True)
            part = loaded
            for dim, (start, count) in enumerate(zip(item.storage_offsets, item.lengths)):
                part = part.narrow(dim, start, count)
            target = planner.resolve_tensor(item).detach()
            if target.shape != part.shape:
                raise AssertionError(f"req {item.storage_index} mismatch sizes {target.shape} vs {part.shape}")
            target.copy_(part)
            planner.commit_tensor(item, target)
