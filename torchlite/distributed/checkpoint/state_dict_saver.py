"""Saving a state that several processes have, each a part or all of it."""

from __future__ import annotations

import copy
import os
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any

from ...core.machine import Tensor
from ...core.values import shown_in, warn
from ...distributed.process_group import Group
from ...utils._pytree import tree_map
from ..objects import broadcast_object_list
from ..world import _get_default_group, is_initialized, new_group
from .api import together
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlanner
from .stateful import Stateful
from .storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


@shown_in("torch.distributed.checkpoint.state_dict_saver")
class AsyncCheckpointerType(Enum):
    """Who writes while the program goes on; here it is a thread of this process."""

    THREAD = "thread"
    PROCESS = "process"


def group_for(process_group: Group, no_dist: bool, intent: str) -> Any:
    """The processes that work together, None for this one alone."""
    if no_dist or not is_initialized():
        if not no_dist:
            warn(f"torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to {intent} in "
                 "a single process.")  # fmt: skip
        return None
    return process_group or _get_default_group()


def storage_for(kind: Any, checkpoint_id: Any, storage: Any) -> Any:
    """The storage that was given, or that of the folder that was named."""
    if storage is not None:
        storage.reset(checkpoint_id)
        return storage
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specificed if storage_reader/storage_writer is None.")
    return kind(checkpoint_id)


def plain_state(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state, with that of objects that have one in their place."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) and not isinstance(value, Tensor) else value
        for key, value in state_dict.items()
    }


def said_by_first(value: Any, group: Group) -> Any:
    """What the first process has."""
    if group is None:
        return value
    holder = [value]
    broadcast_object_list(holder, group=group, group_src=0)
    return holder[0]


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None, process_group: Group = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Save the state of all processes; each writes its part. All call this.

    The folder holds a checkpoint when this has returned; until then, the one that was there before.
    """
    group = group_for(process_group, no_dist, "save")
    writer = storage_for(FileSystemWriter, checkpoint_id, storage_writer)
    return _save(plain_state(state_dict), writer, group, planner)


def _save(state: dict[str, Any], writer: StorageWriter, group: Group, planner: SavePlanner | None) -> Metadata:
    planner = planner or DefaultSavePlanner()
    rank = 0 if group is None else group.rank()
    with together(group) as plans:
        planner.set_up_planner(state, writer.storage_meta(), rank == 0)
        writer.set_up_storage_writer(rank == 0)
        plans.append(writer.prepare_local_plan(planner.create_local_plan()))
    metadata: Any = None
    with together(group) as central:
        if rank == 0:
            planned, metadata = planner.create_global_plan([plan for [plan] in plans])
            central += writer.prepare_global_plan(planned)
    with together(group) as results:
        done = writer.write_data(planner.finish_plan(central[0][rank]), planner)
        results.append(done.wait())
    with together(group):
        if rank == 0:
            writer.finish(metadata, [each for [each] in results])
    return said_by_first(metadata, group)


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None, process_group: Group = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD, async_stager: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Future[Metadata]:  # fmt: skip
    """Save a copy of the state that is made now, while the program goes on; a future of what `save` returns."""
    state = plain_state(state_dict)
    kept = tree_map(_kept, state) if async_stager is None else async_stager.stage(state)
    writer = storage_for(FileSystemWriter, checkpoint_id, storage_writer)
    group = group_for(process_group, no_dist, "save")
    own = None if group is None else new_group(group._ranks)  # whose collectives are not among the program's
    executor = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
    future = executor.submit(_save, kept, writer, own, planner)
    executor.shutdown(wait=False)
    return future


def _kept(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def save_state_dict(
    state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Group = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: SavePlanner | None = None,
) -> Metadata:  # fmt: skip
    """`save`, as it was called before: objects with a state of their own are not asked for it."""
    storage_writer.reset()
    return _save(state_dict, storage_writer, group_for(process_group, no_dist, "save"), planner)
