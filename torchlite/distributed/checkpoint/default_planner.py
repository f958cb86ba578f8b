"""The planners that are used where none is given: nested states by names, what several have written once."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.machine import Tensor, functions
from ...core.values import shown_in
from ...serialization import load as load_file
from ...serialization import save as save_file
from .._shard.sharded_tensor import ShardedTensor
from ..tensor import DTensor
from ..tensor._dtensor_spec import compute_local_shape_and_global_offset
from .flattening import flatten_state_dict, put_at
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    BytesIOWriteData,
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]

_VERSION = "1.0.0"


def size_of(shape: Sequence[int]) -> Any:
    return functions["empty"](tuple(shape), device="meta").shape


def pieces_of(value: Any) -> Iterator[tuple[Any, Tensor]]:
    """The pieces of a tensor that this process has, each with where it begins."""
    if isinstance(value, ShardedTensor):
        for shard in value.local_shards():
            yield size_of(shard.metadata.shard_offsets), shard.tensor.detach()
    elif isinstance(value, DTensor):
        if value.device_mesh.get_coordinate() is not None:
            _, offsets = compute_local_shape_and_global_offset(value.shape, value.device_mesh, value.placements)
            if any(placement.is_partial() for placement in value.placements):
                raise RuntimeError("Any checkpointing related operations are not supported for DTensor with partial "
                                   "placements!")  # fmt: skip
            yield size_of(offsets), value.to_local().detach()
    else:
        yield size_of([0] * value.dim()), value.detach()


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (Tensor, ShardedTensor))


@shown_in("torch.distributed.checkpoint.default_planner")
class DefaultSavePlanner(SavePlanner):
    """Writes what stands in a nested state by names; what several processes have, the one with the least to write."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        items = [item for name, value in self.state_dict.items() for item in self._items(name, value)]
        self.plan = SavePlan(items, planner_data=self.mappings or None)
        return self.plan

    def _items(self, name: str, value: Any) -> Iterator[WriteItem]:
        if not _is_tensor(value):
            yield WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO, BytesIOWriteData(0))
            return
        plain = not isinstance(value, (DTensor, ShardedTensor))
        for offsets, piece in pieces_of(value):
            data = TensorWriteData(
                ChunkStorageMetadata(offsets, piece.shape), TensorProperties.create_from_tensor(piece),
                size_of(value.shape),
            )  # fmt: skip
            kind = WriteItemType.TENSOR if plain else WriteItemType.SHARD
            yield WriteItem(MetadataIndex(name, offsets), kind, tensor_data=data)

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        writers = self._writers(all_plans)
        known: dict[str, Any] = {}
        plans = []
        for rank, plan in enumerate(all_plans):
            kept = [item for item in plan.items if writers[item.index] == rank]
            plans.append(dataclasses.replace(plan, items=[_noted(item, known) for item in kept]))
        paths = {name: path for plan in all_plans for name, path in (plan.planner_data or {}).items()}
        return plans, Metadata(known, planner_data=paths or None, version=_VERSION)

    def _writers(self, plans: Sequence[SavePlan]) -> dict[MetadataIndex, int]:
        """Who writes what."""
        holders: dict[MetadataIndex, list[int]] = {}
        for rank, plan in enumerate(plans):
            for item in plan.items:
                holders.setdefault(item.index, []).append(rank)
        sizes = {item.index: item.tensor_storage_size() or 0 for plan in plans for item in plan.items}
        load, writers = [0] * len(plans), {}
        for index, ranks in holders.items():
            at = ranks[0] if self.dedup_save_to_lowest_rank else min(ranks, key=lambda rank: load[rank])
            writers[index] = at
            load[at] += sizes[index]
        return writers

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        value = self.lookup_object(write_item.index)
        return self.transform_object(write_item, value)

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What stands under a name, or the piece of it that begins somewhere."""
        return _piece(self.state_dict[index.fqn], index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """An object as it is written."""
        if write_item.type is WriteItemType.BYTE_IO:
            content = io.BytesIO()
            save_file(object, content)
            object = content
        return object


def _piece(value: Any, index: MetadataIndex) -> Any:
    if not _is_tensor(value):
        return value
    for offsets, piece in pieces_of(value):
        if index.offset is None or tuple(offsets) == tuple(index.offset):
            return piece
    raise ValueError(f"Could not find shard at '{index.offset}' for FQN: '{index.fqn}'")


def _noted(item: WriteItem, known: dict[str, Any]) -> WriteItem:
    """Note what an item is of; the item, which knows its number among the pieces."""
    name, data = item.index.fqn, item.tensor_data
    if data is None:
        known[name] = BytesStorageMetadata()
        return item
    tensor = known.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
    tensor.chunks.append(data.chunk)
    return dataclasses.replace(item, index=dataclasses.replace(item.index, index=len(tensor.chunks) - 1))


@shown_in("torch.distributed.checkpoint.default_planner")
class DefaultLoadPlanner(LoadPlanner):
    """Fills the tensors of a nested state, however the pieces were cut, and puts objects where they were."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        items: list[ReadItem] = []
        for name, value in self.state_dict.items():
            entry = self.metadata.state_dict_metadata.get(name)
            if entry is None:
                if self.allow_partial_load:
                    continue
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            items += _read_items(name, entry, value)
        return LoadPlan(items)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name, loaded = read_item.dest_index.fqn, load_file(value, weights_only=False)
        if self.flatten_state_dict:
            put_at(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        target = self.lookup_tensor(read_item.dest_index)
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths)):
            target = target.narrow(dim, start, length)
        return target

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor under a name, or the piece of it that begins somewhere."""
        return _piece(self.state_dict[index.fqn], index)

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """What was filled is part of the state's own tensor."""


def _read_items(name: str, entry: Any, value: Any) -> Iterator[ReadItem]:
    """What to read for a tensor, or for an object."""
    if isinstance(entry, BytesStorageMetadata):
        index, nowhere = MetadataIndex(name), size_of([0])
        yield ReadItem(LoadItemType.BYTE_IO, index, nowhere, index, nowhere, nowhere)
        return
    if not _is_tensor(value):
        raise ValueError(f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found "
                         f"{type(entry)}")  # fmt: skip
    if tuple(value.shape) != tuple(entry.size):
        raise ValueError(f"Size mismatch between saved {entry.size} and current: {size_of(value.shape)} for {name}")
    for offsets, piece in pieces_of(value):
        for number, chunk in enumerate(entry.chunks):
            common = _overlap(offsets, piece.shape, chunk)
            if common is not None:
                here, there, lengths = map(size_of, common)
                yield ReadItem(
                    LoadItemType.TENSOR, MetadataIndex(name, offsets), here,
                    MetadataIndex(name, chunk.offsets, number), there, lengths,
                )  # fmt: skip


def _overlap(offsets: Any, sizes: Any, chunk: ChunkStorageMetadata) -> tuple[Any, ...] | None:
    """What a piece that is wanted and one that was saved have in common: where in each, and how much."""
    here, there, lengths = [], [], []
    for begin, size, other, length in zip(offsets, sizes, chunk.offsets, chunk.sizes, strict=True):
        start, stop = max(begin, other), min(begin + size, other + length)
        if start >= stop:
            return None
        here.append(start - begin)
        there.append(start - other)
        lengths.append(stop - start)
    return here, there, lengths


@shown_in("torch.distributed.checkpoint.default_planner")
class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads all that is in a checkpoint, or what is under some keys, into a state that is empty at first."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _wanted(self, name: str, path: Any) -> bool:
        if self.keys is None or name in self.keys:
            return True
        starts = {".".join(map(str, path[:at])) for at in range(1, len(path) + 1)}
        return bool(starts & self.keys)

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        if state_dict:
            raise AssertionError("Expected empty state_dict")
        if metadata is None:
            raise AssertionError("metadata must not be None")
        paths = metadata.planner_data or {}
        for name, entry in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if self._wanted(name, path):
                if isinstance(entry, TensorStorageMetadata):
                    entry = functions["empty"](entry.size, dtype=entry.properties.dtype)
                put_at(state_dict, path, entry)
        super().set_up_planner(state_dict, metadata, is_coordinator)
