"""States of models and optimizers by the parameters' own names, however the model is wrapped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.machine import Tensor, functions
from ...core.values import shown_in, warn
from ...nn.modules.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...utils._pytree import tree_map
from .._shard.sharded_tensor import ShardedTensor
from ..collectives import broadcast
from ..fsdp.api import FullStateDictConfig, ShardedStateDictConfig, StateDictType
from ..fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from ..tensor import DTensor, distribute_tensor
from ..world import _get_default_group, get_rank, is_initialized
from .flattened_optimizer import flattened, unflattened
from .state_dict_saver import said_by_first

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@shown_in("torch.distributed.checkpoint.state_dict")
@dataclass
class StateDictOptions:
    """Whether states hold whole tensors, lie on the host, leave out frozen parameters, and must have all names.

    With `broadcast_from_rank0`, the first process alone has the state that is set, whole.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None, submodules: set[Module] | None = None) -> StateDictOptions:
    options = options or StateDictOptions()
    if submodules:  # which models' states heed, and those of optimizers do not
        warn(
            "Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. This feature can "
            "be achieved by manually filtering out the state_dict returned from get_state_dict.",
            FutureWarning,
        )
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _own_name(model: Module, name: str) -> str:
    """A parameter's name without the wrappers'."""
    name = name.replace("_fsdp_wrapped_module.", "")
    return name.removeprefix("module.") if isinstance(model, DistributedDataParallel) else name


@contextlib.contextmanager
def _kind(model: Module, options: StateDictOptions) -> Iterator[bool]:
    """Let sharded modules have states of the kind that is wanted; whether there are any."""
    if not FullyShardedDataParallel.fsdp_modules(model):
        yield False
        return
    config: Any
    kind, config = StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig()
    if options.full_state_dict:
        kind, config = StateDictType.FULL_STATE_DICT, FullStateDictConfig()
    with FullyShardedDataParallel.state_dict_type(model, kind, config):
        yield True


# ---- handing out


def _handed_out(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Tensors as they are wanted. Whole ones on the host are for the first process alone."""

    def given(value: Any) -> Any:
        if isinstance(value, DTensor) and options.full_state_dict:
            value = value.detach().full_tensor()  # type: ignore[attr-defined]
        return value.cpu() if options.cpu_offload and isinstance(value, Tensor) else value

    found = tree_map(given, state)
    alone = options.full_state_dict and options.cpu_offload and is_initialized() and get_rank()
    return {} if alone else found


def _prefixes(model: Module, submodules: set[Module] | None) -> list[str]:
    """The names of modules whose parameters are wanted, with the dot at their end."""
    if not submodules:
        return [""]
    return [f"{_own_name(model, name)}." for name, part in model.named_modules() if part in submodules]


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model, by its own names: whole tensors, or pieces of those that are sharded."""
    options = _checked(options, submodules)
    frozen = {name for name, param in model.named_parameters() if not param.requires_grad}
    with _kind(model, options):
        state = model.state_dict()
    named = {
        _own_name(model, name): value for name, value in state.items()
        if not (options.ignore_frozen_params and name in frozen)
    }  # fmt: skip
    kept = {}
    for prefix in _prefixes(model, submodules):
        for name, value in named.items():
            if name.startswith(prefix):
                kept[name if options.keep_submodule_prefixes else name.removeprefix(prefix)] = value
    return _handed_out(kept, options)


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of optimizers, by the names that parameters have in the model."""
    options = _checked(options, submodules)
    whole: dict[str, Any] = {"state": {}, "param_groups": []}
    names = _names(model)
    with _kind(model, options) as sharded:
        for optimizer in _listed(optimizers):
            _begin_state(optimizer)
            found = _of_shards(model, optimizer, options) if sharded else _by_names(optimizer, names)
            whole["state"].update(found["state"])
            whole["param_groups"] += found["param_groups"]
    whole = _handed_out(whole, options)
    return flattened(whole) if options.flatten_optimizer_state_dict and whole else whole


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _names(model: Module) -> dict[Tensor, str]:
    return {param: _own_name(model, name) for name, param in model.named_parameters()}


def _begin_state(optimizer: Any) -> None:
    """Let an optimizer make its state, by a step that changes nothing."""
    if optimizer.state:
        return
    params = [param for group in optimizer.param_groups for param in group["params"] if param.requires_grad]
    rates = [group["lr"] for group in optimizer.param_groups]
    grads = [param.grad for param in params]
    for param in params:
        param.grad = functions["zeros_like"](param.detach())
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * 0.0
    optimizer.step()
    for param, grad in zip(params, grads):
        param.grad = grad
    for group, rate in zip(optimizer.param_groups, rates):
        group["lr"] = rate


def _of_shards(model: Module, optimizer: Any, options: StateDictOptions) -> dict[str, Any]:
    found = FullyShardedDataParallel.optim_state_dict(model, optimizer)
    if not options.full_state_dict:
        group = FullyShardedDataParallel.fsdp_modules(model)[0].process_group
        found["state"] = tree_map(
            lambda each: ShardedTensor.chunk_of(each, group) if isinstance(each, Tensor) and each.dim() else each,
            found["state"],
        )
    return found


def _by_names(optimizer: Any, names: dict[Tensor, str]) -> dict[str, Any]:
    return {
        "state": {names[param]: dict(state) for param, state in optimizer.state.items()},
        "param_groups": [
            {**group, "params": [names[param] for param in group["params"]]} for group in optimizer.param_groups
        ],
    }


# ---- taking


def _taken(given: Any, have: Any, options: StateDictOptions) -> Any:
    """A value as this process has it: that of the first, if it alone has one, shared out if what is here is."""
    if options.broadcast_from_rank0:
        given = _of_first(given, have)
    if isinstance(have, DTensor) and isinstance(given, Tensor) and not isinstance(given, DTensor):
        given = distribute_tensor(given.detach(), have.device_mesh, have.placements, src_data_rank=None)
    return given


def _of_first(given: Any, have: Any) -> Any:
    group = _get_default_group()
    if not isinstance(have, Tensor):
        return said_by_first(given, group)
    like = have.to_local() if isinstance(have, DTensor) else have
    mine = get_rank(group) == 0
    whole = given.detach().to(like).contiguous() if mine else like.new_empty(have.shape)
    broadcast(whole, group=group, group_src=0)
    return whole


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Take the state of a model by its own names."""
    options = _checked(options)
    with _kind(model, options):
        own = model.state_dict() if options.full_state_dict else {}
        state = dict(model_state_dict)
        for name, have in own.items():
            key = _own_name(model, name)
            if key in state or options.broadcast_from_rank0:
                state[key] = _taken(state.get(key), have, options)
        prefix = "module." if isinstance(model, DistributedDataParallel) else ""
        named = {prefix + name: value for name, value in state.items()}
        return model.load_state_dict(named, strict=options.strict)


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Take the state of optimizers, by the names that parameters have in the model."""
    options = _checked(options)
    names, at, given = _names(model), 0, optim_state_dict
    if options.flatten_optimizer_state_dict and given:
        given = unflattened(given, [_by_names(each, names)["param_groups"] for each in _listed(optimizers)])
    for optimizer in _listed(optimizers):
        count = len(optimizer.param_groups)
        groups = given.get("param_groups", [])[at : at + count]
        groups = said_by_first(groups, _get_default_group()) if options.broadcast_from_rank0 else groups
        at += count
        if FullyShardedDataParallel.fsdp_modules(model):
            state = given.get("state", {})
            state = said_by_first(state, _get_default_group()) if options.broadcast_from_rank0 else state
            taken = {"state": tree_map(_whole, state), "param_groups": groups}
            optimizer.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(model, optimizer, taken))
            continue
        _begin_state(optimizer)
        _take(optimizer, names, given.get("state", {}), groups, options)


def _take(optimizer: Any, names: dict[Tensor, str], given: Any, groups: Any, options: StateDictOptions) -> None:
    """Take the state of an optimizer whose parameters have these names."""
    state: dict[int, Any] = {}
    params = [param for group in optimizer.param_groups for param in group["params"]]
    for number, param in enumerate(params):
        own = given.get(names[param], {})
        keys = sorted(optimizer.state[param]) if options.broadcast_from_rank0 else own
        if keys:
            have = optimizer.state[param]
            state[number] = {key: _taken(own.get(key), have.get(key), options) for key in keys}
    wanted = optimizer.state_dict()["param_groups"]
    merged = [{**theirs, "params": mine["params"]} for theirs, mine in zip(groups, wanted, strict=True)]
    optimizer.load_state_dict({"state": state, "param_groups": merged})


def _whole(value: Any) -> Any:
    return value.full() if isinstance(value, ShardedTensor) else value


# ---- both


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Take the states of a model and of its optimizers."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
