"""Saving a state that several processes have, each a part or all of it."""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...absent import placeholders
from ...core.machine import Tensor
from ...utils._pytree import tree_map
from ..world import _get_default_group, is_initialized, new_group
from .filesystem import pieces_of, write
from .flattening import places
from .metadata import Metadata
from .stateful import Stateful

__all__ = ["async_save", "save"]
globals().update(placeholders("torch.distributed.checkpoint.state_dict_saver", "save_state_dict"))


def group_for(process_group: Any, no_dist: bool) -> Any:
    """The processes that work together, None for this one alone."""
    if no_dist or not is_initialized():
        return None
    return process_group or _get_default_group()


def folder_for(checkpoint_id: Any, storage: Any, planner: Any = None) -> Path:
    if planner is not None:
        raise NotImplementedError("torchlite's torch.distributed.checkpoint has no planners")
    if checkpoint_id is None and storage is None:
        raise RuntimeError(
            "Cannot determine, from the checkpoint_id (None), where the checkpoint is: give checkpoint_id, the path of "
            "a folder"
        )
    return Path(checkpoint_id) if checkpoint_id is not None else storage.path


def plain_state(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state, with that of objects that have one in their place."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) and not isinstance(value, Tensor) else value
        for key, value in state_dict.items()
    }


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save the state of all processes into a folder; each writes a file. All call this.

    The folder holds a checkpoint when this has returned; until then, the one that was there before.
    """
    group = group_for(process_group, no_dist)
    pieces = [
        piece for name, (get, _) in places(plain_state(state_dict)).items() for piece in pieces_of(name, get())
    ]  # fmt: skip
    return write(folder_for(checkpoint_id, storage_writer, planner), pieces, group)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata]:
    """Save a copy of the state that is made now, while the program goes on; a future of what `save` returns."""
    kept = tree_map(lambda each: each.detach().clone() if isinstance(each, Tensor) else copy.deepcopy(each),
                    plain_state(state_dict))  # fmt: skip
    folder_for(checkpoint_id, storage_writer, planner)
    group = group_for(process_group, no_dist)
    own = None if group is None else new_group(group._ranks)  # whose collectives are not among the program's
    executor = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
    future = executor.submit(
        save, kept, checkpoint_id=checkpoint_id, storage_writer=storage_writer, process_group=own, no_dist=own is None
    )
    executor.shutdown(wait=False)
    return future
