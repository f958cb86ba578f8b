"""Loading a state into tensors that are there, however they were shared out when it was saved."""

from __future__ import annotations

import os
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor
from ...distributed.process_group import Group
from .api import together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .planner import LoadPlanner
from .state_dict_saver import group_for, plain_state, storage_for
from .stateful import Stateful
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None, process_group: Group = None,
    no_dist: bool = False,
) -> None:  # fmt: skip
    """Load a checkpoint into the tensors of a state, in place, and objects into its dicts. All processes call this."""
    group = group_for(process_group, no_dist, "load")
    reader = storage_for(FileSystemReader, checkpoint_id, storage_reader)
    wanted = plain_state(state_dict)
    _load(wanted, reader, group, planner)
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful) and not isinstance(value, Tensor):
            value.load_state_dict(wanted[key])
    for key, value in wanted.items():
        if not isinstance(state_dict.get(key), Stateful) or isinstance(state_dict[key], Tensor):
            state_dict[key] = value


def _load(state: dict[str, Any], reader: StorageReader, group: Group, planner: LoadPlanner | None) -> None:
    planner = planner or DefaultLoadPlanner()
    rank = 0 if group is None else group.rank()
    with together(group) as plans, no_grad():
        metadata = reader.read_metadata()
        planner.set_up_planner(state, metadata, rank == 0)
        reader.set_up_storage_reader(metadata, rank == 0)
        plans.append(reader.prepare_local_plan(planner.create_local_plan()))
    with together(group) as central:
        if rank == 0:
            central += reader.prepare_global_plan(planner.create_global_plan([plan for [plan] in plans]))
    with together(group), no_grad():
        reader.read_data(planner.finish_plan(central[0][rank]), planner).wait()


def _load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Group = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    _load(state_dict, storage_reader, group_for(process_group, no_dist, "load"), planner)


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Group = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    """`load`, as it was called before: objects with a state of their own are not asked for it."""
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)
