"""Loading a state into tensors that are there, however they were shared out when it was saved."""

from __future__ import annotations

from typing import Any

from ...absent import placeholders
from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor
from .filesystem import Reader, together
from .flattening import places
from .state_dict_saver import folder_for, group_for, plain_state
from .stateful import Stateful

__all__ = ["load"]
globals().update(placeholders("torch.distributed.checkpoint.state_dict_loader", "_load_state_dict load_state_dict"))


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into the tensors of a state, in place, and objects into its dicts. All processes call this."""
    group = group_for(process_group, no_dist)
    wanted = plain_state(state_dict)
    with together(group), no_grad():
        reader = Reader(folder_for(checkpoint_id, storage_reader, planner))
        for name, (get, put) in places(wanted).items():
            reader.load(name, get(), put)
    for key, value in state_dict.items():
        if isinstance(value, Stateful) and not isinstance(value, Tensor):
            value.load_state_dict(wanted[key])
        else:
            state_dict[key] = wanted[key]
