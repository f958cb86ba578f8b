"""A module whose parameters, gradients and optimizer state are shared out among processes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.machine import Tensor, functions
from ...core.values import float32, float64, shown_in
from ...nn.modules.module import Module
from ..collectives import all_reduce
from ..reduction import ReduceOp
from ..utils import _sync_module_states
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .flat_parameter import FlatHandle
from .groups import HYBRID, groups_of
from .handle import Course
from .optimizer_state import rekeyed, wanted_state, whole_state
from .policies import cast
from .sharded_state import load_whole, put_state
from .wrap import wrap_inside

__all__ = ["FullyShardedDataParallel"]

_WRAPPED = "_fsdp_wrapped_module"


@shown_in("torch.distributed.fsdp.fully_sharded_data_parallel")
class FullyShardedDataParallel(Module):
    """A module that keeps a shard of its parameters, laid out in one flat tensor, and gathers them to compute.

    Modules inside that are wrapped by themselves, by hand or by `auto_wrap_policy`, gather and reduce by themselves:
    the smaller they are, the less memory is needed at once. With `use_orig_params`, programs see the parameters by
    their names (each the part of it that is here); otherwise they see the flat shard.
    """

    def __init__(
        self, module: Module, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None, auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None, ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None, device_id: Any = None, sync_module_states: bool = False,
        forward_prefetch: bool = False, limit_all_gathers: bool = True, use_orig_params: bool = False,
        ignored_states: Any = None, device_mesh: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.process_group, self._inter_node_pg = groups_of(strategy, process_group, device_mesh)
        self._device_mesh = device_mesh
        self.sharding_strategy, self.mixed_precision = strategy, mixed_precision or MixedPrecision()
        self.cpu_offload = cpu_offload or CPUOffload()
        self.backward_prefetch, self.forward_prefetch = backward_prefetch, forward_prefetch
        self._use_orig_params = use_orig_params
        self._is_root: bool | None = None
        self._settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), OptimStateDictConfig(offload_to_cpu=False)
        )
        ignored = {part for each in (*(ignored_modules or ()), *_modules(ignored_states)) for part in each.modules()}
        if auto_wrap_policy is not None:
            inside = (self.process_group, self._inter_node_pg) if strategy in HYBRID else process_group
            inner = functools.partial(
                FullyShardedDataParallel, process_group=inside, sharding_strategy=sharding_strategy,
                cpu_offload=cpu_offload, backward_prefetch=backward_prefetch, mixed_precision=mixed_precision,
                param_init_fn=param_init_fn, device_id=device_id, sync_module_states=sync_module_states,
                forward_prefetch=forward_prefetch, use_orig_params=use_orig_params, ignored_modules=ignored,
                ignored_states=ignored_states, device_mesh=None if strategy in HYBRID else device_mesh,
            )  # fmt: skip
            wrap_inside(module, auto_wrap_policy, inner, ignored)
        if param_init_fn is not None:
            param_init_fn(module)
        if device_id is not None:
            module.to(device_id)
        if sync_module_states:
            for group in (self._inter_node_pg, self.process_group):
                if group is not None:  # modules inside that are sharded have seen to themselves
                    states = (*module.named_parameters(), *module.named_buffers())
                    inside = {name for name, _ in states if _WRAPPED in name.split(".")}
                    _sync_module_states(module, group, params_and_buffers_to_ignore=inside)
        self._handle = self._flatten(module, ignored, _params(ignored_states))
        self._fsdp_wrapped_module = module
        if self.mixed_precision.buffer_dtype is not None:
            for buffer in module.buffers():
                buffer.data = buffer.data.to(self.mixed_precision.buffer_dtype)
        self._register_load_state_dict_pre_hook(functools.partial(FullyShardedDataParallel._before_load, self))
        self.register_load_state_dict_post_hook(FullyShardedDataParallel._after_load)
        self._loading: contextlib.ExitStack | None = None

    def _flatten(self, module: Module, ignored: set[Module], left: set[int]) -> FlatHandle | None:
        """Lay out the parameters that no module inside has sharded."""
        found: dict[Tensor, list[tuple[Module, str, str]]] = {}
        for owner_name, owner in module.named_modules():
            if owner in ignored or isinstance(owner, FullyShardedDataParallel):
                continue
            for name, param in owner._parameters.items():
                if param is None or name == "_flat_param" or id(param) in left or _WRAPPED in owner_name.split("."):
                    continue
                place = owner, name, _clean(f"{owner_name}.{name}".removeprefix("."))
                found.setdefault(param, []).append(place)
        if not found:
            return None
        if len({param.requires_grad for param in found}) > 1 and not self._use_orig_params:
            raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")
        params = [
            (tuple([(owner, name) for owner, name, _ in places]), places[0][2], param)
            for param, places in found.items()
        ]
        whole = self.sharding_strategy is ShardingStrategy.NO_SHARD
        return FlatHandle(
            module, params, self._use_orig_params, self.cpu_offload.offload_params,
            group=None if whole or self.process_group.size() == 1 else self.process_group,
            replicas=self.process_group if whole else self._inter_node_pg,
            param_dtype=self.mixed_precision.param_dtype,
            reduce_dtype=self.mixed_precision.reduce_dtype,
            frees=self.sharding_strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD),
        )

    @property
    def module(self) -> Module:
        """The module that is wrapped."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_WRAPPED), name)

    def __getitem__(self, key: int) -> Any:
        inside: Any = self.module
        return inside[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        shown = self._handle is not None and self._handle.shown
        for name, param in super().named_parameters(*args, **kwargs):
            yield _clean(name) if shown else name, param

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_root is None:
            self._become_root()
        if self._is_root and self._course is not None:
            self._course.begin()
        precision = self.mixed_precision
        casts = precision.cast_root_forward_inputs if self._is_root else precision.cast_forward_inputs
        if casts:
            args, kwargs = cast((args, kwargs), precision.param_dtype)
        if self._handle is None:
            return self.module(*args, **kwargs)
        with self._handle.unsharded():
            return self.module(*args, **kwargs)

    def _become_root(self) -> None:
        """The first to compute is the outermost of all inside; what they need is gathered in the order of its pass."""
        when = {BackwardPrefetch.BACKWARD_PRE: "pre", BackwardPrefetch.BACKWARD_POST: "post", None: None}
        self._course = Course(self.forward_prefetch, when[self.backward_prefetch])
        for unit in FullyShardedDataParallel.fsdp_modules(self):
            unit._is_root = unit is self
            if unit._handle is not None:
                unit._handle.course = self._course

    # ---- all units in a module

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The sharded modules in one, or the outermost ones."""
        found = [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]
        if not root_only:
            return found
        inside = {inner for part in found for inner in part.module.modules()}
        return [part for part in found if part not in inside]

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients accumulate, unreduced, in each process; the first pass after this context reduces them."""
        handles = _handles(self)
        try:
            for handle in handles:
                handle.syncs = False
            yield
        finally:
            for handle in handles:
                handle.syncs = True

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
        offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """Let modules have their whole parameters; what is written to them is kept, unless `writeback` is False."""
        if rank0_only and writeback:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        handles = _handles(module) if recurse else [module._handle] if module._handle else []
        original = all(handle.original for handle in handles)
        if with_grads and (offload_to_cpu or not original):
            raise NotImplementedError(
                f"with_grads={with_grads}, use_orig_params={original}, offload_to_cpu={offload_to_cpu} "
                "is not supported yet"
            )
        with contextlib.ExitStack() as stack:
            for handle in handles:
                stack.enter_context(handle.summoned(writeback, rank0_only, offload_to_cpu, with_grads))
            yield

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale gradients so that the norm of all of them, in all processes, is no larger; the norm that it was."""
        norm_type = float(norm_type)
        shards = {id(piece) for handle in _handles(self) if handle.size > 1 for piece in handle.pieces}
        grads = [param.grad for param in self.parameters() if param.grad is not None]
        split = [param.grad for param in self.parameters() if param.grad is not None and id(param) in shards]
        here = [grad for grad in grads if not any(grad is each for each in split)]
        total = self._norm_power(split, norm_type)
        largest = norm_type == float("inf")
        all_reduce(total, ReduceOp.MAX if largest else ReduceOp.SUM, group=self.process_group)
        own = self._norm_power(here, norm_type)
        total = functions["maximum"](total, own) if largest else (total + own) ** (1.0 / norm_type)
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.detach().mul_(factor.to(grad.dtype))
        return total.to(grads[0].dtype) if grads else total

    def _norm_power(self, grads: list[Tensor], norm_type: float) -> Tensor:
        """The norm of gradients to the power that can be added up, or the largest of their numbers."""
        like = next(iter(self.parameters()))
        total = like.new_zeros((), dtype=float64 if like.dtype is float64 else float32)
        for grad in grads:
            if grad.numel():
                norm = functions["norm"](grad.detach().to(total.dtype), norm_type)
                total = functions["maximum"](total, norm) if norm_type == float("inf") else total + norm**norm_type
        return total

    # ---- state dicts

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: Any, model: Module, optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """An optimizer's state dict with its parameters called by their names, or by their numbers."""
        return rekeyed(optim_state_dict, optim_state_key_type, model)

    @staticmethod
    def set_state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:  # fmt: skip
        """Choose the kind of state dicts of all units in a module; what it was."""
        units = FullyShardedDataParallel.fsdp_modules(module)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for unit in units:
            unit._settings = StateDictSettings(
                state_dict_type, state_dict_config or FullStateDictConfig(),
                optim_state_dict_config or OptimStateDictConfig(offload_to_cpu=False),
            )  # fmt: skip
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The kind of state dicts of the units in a module."""
        return FullyShardedDataParallel.fsdp_modules(module)[0]._settings

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """Choose the kind of state dicts for a while."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config
            )

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state, of the kind that was chosen, by the names that it has in the module that is wrapped."""
        with contextlib.ExitStack() as stack:
            if self._handle is not None and self._settings.state_dict_type is not StateDictType.LOCAL_STATE_DICT:
                stack.enter_context(self._handle.summoned(writeback=False))
            inside = self.module.state_dict(prefix=prefix, keep_vars=keep_vars)
            return put_state(self, inside, destination, prefix)

    def _before_load(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Have the whole parameters while they are loaded, and give what is in the state the names that they have."""
        self._loading = contextlib.ExitStack()
        if self._handle is not None and self._settings.state_dict_type is not StateDictType.LOCAL_STATE_DICT:
            self._loading.enter_context(self._handle.summoned(writeback=True))
        load_whole(state_dict, prefix, f"{prefix}{_WRAPPED}.")

    def _after_load(self, *_: Any) -> None:
        assert self._loading is not None
        self._loading.close()
        self._loading = None

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state of whole parameters, by their names; for the first process alone, unless told."""
        whole = whole_state(model, _named_handles(model), optim)
        return {} if rank0_only and _handles(model)[0].rank else whole

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state of whole parameters, by their names."""
        whole = whole_state(model, _named_handles(model), optim)
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        rank0_only = getattr(settings.optim_state_dict_config, "rank0_only", False)
        return {} if rank0_only and _handles(model)[0].rank else whole

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False,
        load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What `optim.load_state_dict` takes here, from the state of whole parameters."""
        wanted = wanted_state(model, _named_handles(model), optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(wanted)
        return wanted


def _modules(states: Any) -> list[Module]:
    return [each for each in states or () if isinstance(each, Module)]


def _params(states: Any) -> set[int]:
    return {id(each) for each in states or () if not isinstance(each, Module)}


def _clean(name: str) -> str:
    return name.replace(f"{_WRAPPED}.", "")


def _handles(module: Module) -> list[FlatHandle]:
    units = FullyShardedDataParallel.fsdp_modules(module)
    return [unit._handle for unit in units if unit._handle is not None]


def _named_handles(module: Module) -> list[tuple[str, FlatHandle]]:
    """The handles in a module, each with the prefix that its parameters' names have there."""
    found = []
    for name, part in module.named_modules():
        if isinstance(part, FullyShardedDataParallel) and part._handle is not None:
            found.append((_clean(f"{name}." if name else ""), part._handle))
    return found
