"""States of models and optimizers by the parameters' own names, however the model is wrapped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.machine import Tensor
from ...core.values.pickling import bear_name
from ...nn.modules.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...utils._pytree import tree_map
from .._shard.sharded_tensor import ShardedTensor
from ..fsdp.api import FullStateDictConfig, ShardedStateDictConfig, StateDictConfig, StateDictType
from ..fsdp.fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """Whether states hold whole tensors, lie on the host, leave out frozen parameters, and must have all names."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


bear_name(StateDictOptions, "torch.distributed.checkpoint.state_dict")


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    """The options, if there is nothing among them that torchlite has not."""
    options = options or StateDictOptions()
    lacking = {
        "submodules": submodules, "broadcast_from_rank0": options.broadcast_from_rank0,
        "flatten_optimizer_state_dict": options.flatten_optimizer_state_dict,
    }  # fmt: skip
    for name, given in lacking.items():
        if given:
            raise NotImplementedError(f"torchlite's torch.distributed.checkpoint.state_dict has no {name}")
    return options


def _own_name(model: Module, name: str) -> str:
    """A parameter's name without the wrappers'."""
    name = name.replace("_fsdp_wrapped_module.", "")
    return name.removeprefix("module.") if isinstance(model, DistributedDataParallel) else name


@contextlib.contextmanager
def _kind(model: Module, options: StateDictOptions) -> Iterator[bool]:
    """Let sharded modules have states of the kind that is wanted; whether there are any."""
    sharded = bool(FullyShardedDataParallel.fsdp_modules(model))
    if not sharded:
        yield False
        return
    wanted: tuple[StateDictType, StateDictConfig] = StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig()
    if options.full_state_dict:
        wanted = StateDictType.FULL_STATE_DICT, FullStateDictConfig()
    with FullyShardedDataParallel.state_dict_type(model, *wanted):
        yield True


def _handed_out(value: Any, options: StateDictOptions) -> Any:
    return value.cpu() if options.cpu_offload and isinstance(value, Tensor) else value


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model, by its own names: whole tensors, or pieces of those that are sharded."""
    options = _checked(options, submodules)
    frozen = {name for name, param in model.named_parameters() if not param.requires_grad}
    with _kind(model, options):
        state = model.state_dict()
    kept = [name for name in state if not (options.ignore_frozen_params and name in frozen)]
    return {_own_name(model, name): _handed_out(state[name], options) for name in kept}


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Take the state of a model by its own names."""
    options = _checked(options)
    prefix = "module." if isinstance(model, DistributedDataParallel) else ""
    with _kind(model, options):
        named = {prefix + name: value for name, value in model_state_dict.items()}
        return model.load_state_dict(named, strict=options.strict)


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _begin_state(optimizer: Any) -> None:
    """Let an optimizer make its state, by a step that changes nothing."""
    if optimizer.state:
        return
    params = [param for group in optimizer.param_groups for param in group["params"] if param.requires_grad]
    rates = [group["lr"] for group in optimizer.param_groups]
    grads = [param.grad for param in params]
    for param in params:
        param.grad = param.detach().new_zeros(param.shape)
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * 0.0
    optimizer.step()
    for param, grad in zip(params, grads):
        param.grad = grad
    for group, rate in zip(optimizer.param_groups, rates):
        group["lr"] = rate


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of optimizers, by the names that parameters have in the model."""
    options = _checked(options, submodules)
    whole: dict[str, Any] = {"state": {}, "param_groups": []}
    names: dict[Tensor, str] = {param: _own_name(model, name) for name, param in model.named_parameters()}
    with _kind(model, options) as sharded:
        for optimizer in _listed(optimizers):
            _begin_state(optimizer)
            if sharded:
                found = FullyShardedDataParallel.optim_state_dict(model, optimizer)
                if not options.full_state_dict:
                    group = FullyShardedDataParallel.fsdp_modules(model)[0].process_group
                    cut = lambda each, group=group: _piece(each, group)
                    found["state"] = tree_map(cut, found["state"])
            else:
                found = _by_names(optimizer, names)
            whole["state"].update(tree_map(lambda each: _handed_out(each, options), found["state"]))
            whole["param_groups"] += found["param_groups"]
    return whole


def _piece(value: Any, group: Any) -> Any:
    return ShardedTensor.chunk_of(value, group) if isinstance(value, Tensor) and value.dim() else value


def _by_names(optimizer: Any, names: dict[Tensor, str]) -> dict[str, Any]:
    return {
        "state": {names[param]: dict(state) for param, state in optimizer.state.items()},
        "param_groups": [
            {**group, "params": [names[param] for param in group["params"]]} for group in optimizer.param_groups
        ],
    }


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Take the state of optimizers, by the names that parameters have in the model."""
    options = _checked(options)
    names: dict[Tensor, str] = {param: _own_name(model, name) for name, param in model.named_parameters()}
    at = 0
    for optimizer in _listed(optimizers):
        groups = optim_state_dict["param_groups"][at : at + len(optimizer.param_groups)]
        at += len(groups)
        given = {"state": optim_state_dict["state"], "param_groups": groups}
        if FullyShardedDataParallel.fsdp_modules(model):
            given["state"] = {
                name: {key: _whole(value) for key, value in state.items()} for name, state in given["state"].items()
            }
            optimizer.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(model, optimizer, given))
            continue
        numbered = [param for group in optimizer.param_groups for param in group["params"]]
        state = {
            number: given["state"][names[param]]
            for number, param in enumerate(numbered)
            if names[param] in given["state"]
        }
        wanted = optimizer.state_dict()["param_groups"]
        merged = [{**have, "params": own["params"]} for have, own in zip(groups, wanted, strict=True)]
        optimizer.load_state_dict({"state": state, "param_groups": merged})


def _whole(value: Any) -> Any:
    return value.full() if isinstance(value, ShardedTensor) else value


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Take the states of a model and of its optimizers."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
