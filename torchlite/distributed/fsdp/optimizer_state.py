"""The state that an optimizer has for shards, as one of whole parameters by their names, and back."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor
from .flat_parameter import FlatHandle

Handles = Sequence[tuple[str, FlatHandle]]


class OptimStateKeyType(enum.Enum):
    """What parameters are called in an optimizer's state dict: by name, or by number."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


def rekeyed(state_dict: dict[str, Any], kind: Any, model: Any) -> dict[str, Any]:
    """An optimizer's state dict with its parameters called by their names, or by their numbers."""
    names = [name.replace("_fsdp_wrapped_module.", "") for name, _ in model.named_parameters()]
    by_name = kind is OptimStateKeyType.PARAM_NAME
    new = dict(enumerate(names)) if by_name else {name: at for at, name in enumerate(names)}
    if all(key in new.values() for key in state_dict["state"]):
        return state_dict
    groups = [{**group, "params": sorted([new[p] for p in group["params"]])} for group in state_dict["param_groups"]]
    return {"state": {new[key]: value for key, value in state_dict["state"].items()}, "param_groups": groups}


def whole_state(model: Any, handles: Handles, optim: Any) -> dict[str, Any]:
    """The state of whole parameters, and the groups by their names."""
    names = _names(model, handles)
    state: dict[str, Any] = {}
    for prefix, handle in handles:
        _gather(state, prefix, handle, optim)
    for param, named in names.items():
        if named is not None and len(named) == 1 and named[0] not in state and param in optim.state:
            state[named[0]] = dict(optim.state[param])
    groups = [
        {**group, "params": [name for param in group["params"] for name in names[param]]}
        for group in optim.param_groups
    ]
    return {"state": state, "param_groups": groups}


def _gather(state: dict[str, Any], prefix: str, handle: FlatHandle, optim: Any) -> None:
    known = [optim.state.get(piece, {}) for piece in handle.pieces]
    for key in sorted({key for each in known for key in each}):
        values = [each.get(key) for each in known]
        if all(_is_shard(value, piece) for value, piece in zip(values, handle.pieces) if value is not None):
            for fqn, whole in handle.whole(values).items():
                state.setdefault(prefix + fqn, {})[key] = whole
            continue
        for at, place in enumerate(handle.places):  # a number for all of a parameter
            value = values[at if handle.original else 0]
            state.setdefault(prefix + place.fqn, {})[key] = _copy(value)


def wanted_state(model: Any, handles: Handles, optim: Any, whole: dict[str, Any]) -> dict[str, Any]:
    """What the optimizer's `load_state_dict` takes, from the state of whole parameters."""
    wanted, known = optim.state_dict(), whole["state"]
    numbers = {param: at for at, param in enumerate(p for group in optim.param_groups for p in group["params"])}
    state: dict[int, dict[str, Any]] = {}
    for prefix, handle in handles:
        first = known.get(prefix + handle.places[0].fqn, {})
        for key, example in first.items():
            named = {place.fqn: known[prefix + place.fqn][key] for place in handle.places}
            in_parts = isinstance(example, Tensor) and tuple(example.shape) == handle.places[0].shape
            in_parts = in_parts and key != "step"
            pieces = handle.parted(named) if in_parts else [_copy(value) for value in named.values()]
            for piece, value in zip(handle.pieces, pieces):
                if piece in numbers:
                    state.setdefault(numbers[piece], {})[key] = value
    for param, named_by in _names(model, handles).items():
        if param in numbers and numbers[param] not in state and named_by[0] in known:
            state[numbers[param]] = dict(known[named_by[0]])
    groups = [
        {**{key: value for key, value in given.items() if key != "params"}, "params": group["params"]}
        for group, given in zip(wanted["param_groups"], whole["param_groups"], strict=True)
    ]
    return {"state": state, "param_groups": groups}


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _is_shard(value: Any, piece: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == piece.shape and value.dim() > 0


def _names(model: Any, handles: Handles) -> dict[Tensor, list[str]]:
    """The names of the parameters that lie in each that programs see."""
    names: dict[Tensor, list[str]] = {}
    for prefix, handle in handles:
        fqns = [prefix + place.fqn for place in handle.places]
        each = [[fqn] for fqn in fqns] if handle.original else [fqns]
        names.update(zip(handle.pieces, each))
    for name, param in model.named_parameters():
        names.setdefault(param, [name.replace("_fsdp_wrapped_module.", "")])
    return names
