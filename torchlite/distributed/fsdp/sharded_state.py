"""State dicts of sharded modules: whole tensors, pieces of them, or flat shards."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ...core.machine import Tensor
from .._shard.sharded_tensor import ShardedTensor
from .api import StateDictType

_FLAT = "_flat_param"


def put_state(unit: Any, inside: dict[str, Any], destination: Any, prefix: str) -> Any:
    """Put the state of the wrapped module, as the settings want it, into what is returned."""
    target = OrderedDict() if destination is None else destination
    settings, handle = unit._settings, unit._handle
    kind, config = settings.state_dict_type, settings.state_dict_config
    if kind is StateDictType.FULL_STATE_DICT and getattr(config, "rank0_only", False) and unit.process_group.rank():
        return target
    own = {prefix + place.fqn for place in handle.places} if handle is not None else set()
    for name, value in inside.items():
        if name in own and kind is StateDictType.SHARDED_STATE_DICT:
            value = ShardedTensor.chunk_of(value.detach(), unit.process_group)
        elif name in own:
            value = value.detach().clone()
        if config.offload_to_cpu and isinstance(value, Tensor):
            value = value.cpu()
        target[name] = value
    return target


def load_whole(state_dict: dict[str, Any], prefix: str, inner: str) -> None:
    """Give what is in a state the names that modules have inside, and gather what is in pieces."""
    for name in [name for name in state_dict if name.startswith(prefix) and not name.startswith(inner)]:
        value = state_dict.pop(name)
        state_dict[inner + name.removeprefix(prefix)] = value.full() if isinstance(value, ShardedTensor) else value
