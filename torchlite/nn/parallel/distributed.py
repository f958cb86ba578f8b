"""One model in several processes, each with its own inputs, whose gradients are brought together."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...core.machine import Tensor, functions
from ...core.values import shown_in, warn
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.buckets import BuiltinCommHookType, GradBucket
from ...distributed.collectives import all_reduce
from ...distributed.process_group import Group
from ...distributed.reducer import Reducer
from ...distributed.utils import _AT_ONCE, _sync_module_states, _sync_params_and_buffers
from ...distributed.utils import _verify_param_shape_across_processes as _check_the_same
from ...distributed.world import _get_default_group, get_backend
from ...futures import Future
from ...utils._pytree import tree_flatten, tree_unflatten
from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from .ddp_buckets import _DEFAULT_BUCKET_CAP_MB, _MB_TO_BYTES, _BucketCapacityConfig
from .ddp_checks import check_devices, check_group, check_hook, group_of, warn_of_buffers
from .ddp_delayed import delayed
from .ddp_logging import Log, _dump_DDP_relevant_env_vars
from .ddp_precision import _MixedPrecision, cast_buffers, cast_inputs, low_precision, reducing_in
from .scatter_gather import gather, scatter_kwargs

__all__ = [
    "_DEFAULT_BUCKET_CAP_MB", "_MB_TO_BYTES", "DistributedDataParallel", "_BucketCapacityConfig", "_MixedPrecision",
    "_dump_DDP_relevant_env_vars",
]  # fmt: skip


@shown_in("torch.nn.parallel.distributed")
class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are the means of those of all processes of a group.

    Parameters and buffers begin as those of the first process; buffers are brought in line before every forward pass,
    unless `forward_sync_buffers` is False. Gradients travel in buckets of `bucket_cap_mb`, while backward runs. A
    module of which parameters may have no part in the outputs needs `find_unused_parameters`; one whose graph is the
    same every time may say `static_graph`. With `gradient_as_bucket_view`, gradients lie in the buckets.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Group = None,
        bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        self.process_group = group_of(process_group, device_mesh)
        self.parameters_to_ignore = ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._named = self._trained(module)
        check_devices(self._named, device_ids, output_device)
        self.mixed_precision = mixed_precision
        cast_buffers(module, mixed_precision)
        self.device_ids = None if not device_ids else list(device_ids)
        self.output_device = output_device if output_device is not None or not device_ids else device_ids[0]
        self.dim, self.module = dim, module
        self.device = self._named[0][1].device
        self.device_type = self.device.type
        self.is_multi_device_module = len({param.device for _, param in self._named}) > 1
        if broadcast_buffers is not None:
            warn_of_buffers()
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.forward_sync_buffers = self.broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.broadcast_bucket_size = _AT_ONCE
        self._bucket_config = _BucketCapacityConfig.create(bucket_cap_mb, bucket_cap_mb_list, False)
        self.bucket_bytes_cap = self._bucket_config.bucket_bytes_cap
        self.skip_all_reduce_unused_params, self.batched_grad_copy = skip_all_reduce_unused_params, batched_grad_copy
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        self._divides_by_all = True
        if init_sync:
            _check_the_same(self.process_group, [param for _, param in self._named])
            _sync_module_states(module, self.process_group, _AT_ONCE, 0, ignored, self.broadcast_buffers)
        self._delayed = delayed(delay_all_reduce_named_params, param_to_hook_all_reduce, self.process_group)
        later = set() if self._delayed is None else set(self._delayed.params)
        self._named = [(name, param) for name, param in self._named if param not in later]
        self._make_reducer()

    def _trained(self, module: Module) -> list[tuple[str, Tensor]]:
        """The parameters whose gradients are reduced."""
        ignored = self.parameters_to_ignore
        return [(name, p) for name, p in module.named_parameters() if p.requires_grad and name not in ignored]

    def _make_reducer(self) -> None:
        sparse_ones = {
            id(part.weight) for part in self.module.modules()
            if isinstance(part, (Embedding, EmbeddingBag)) and part.sparse
        }  # fmt: skip
        params = [param for _, param in self._named]
        self.modules_buffers = [
            buffer for name, buffer in self.module.named_buffers() if name not in self.parameters_to_ignore
        ]
        config = self._bucket_config
        first, later = config.compute_bucket_size_limits(self.static_graph, self.find_unused_parameters)
        self.reducer = Reducer(
            params, [name for name, _ in self._named], self.process_group, [id(p) in sparse_ones for p in params],
            first, later or [config.first_bucket_bytes_cap, config.bucket_bytes_cap], self.find_unused_parameters,
            self.gradient_as_bucket_view, self.static_graph, self.skip_all_reduce_unused_params, self.batched_grad_copy,
        )  # fmt: skip
        self.logger = Log(self, get_backend(self.process_group))
        if self.mixed_precision is not None:
            self.reducer.hook = reducing_in(self.mixed_precision, self.process_group)

    def __getstate__(self) -> dict[str, Any]:
        check_group(self.process_group)
        state = copy.copy(self.__dict__)
        for name in ("process_group", "reducer", "logger", "_named", "modules_buffers", "_delayed"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = _get_default_group()
        self._named = self._trained(self.module)
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._delayed = None
        self._make_reducer()

    # ---- forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = is_grad_enabled() and self.require_backward_grad_sync
        self._before(syncs)
        if self.device_ids:
            given, named = scatter_kwargs(inputs, kwargs, self.device_ids[:1], self.dim)
            inputs, kwargs = (given[0], named[0]) if given else ((), {})
        if self._delayed is not None:
            self._delayed.syncs = syncs
        output = self._run(inputs, kwargs)
        if not syncs:
            self.require_forward_param_sync = not is_grad_enabled() and self.require_forward_param_sync
            return output
        self.require_forward_param_sync = True
        self.reducer.static = self.static_graph
        leaves, spec = tree_flatten(output)
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.requires_grad]
        self.reducer.prepare([leaves[at] for at in places])
        first_of_static = self.static_graph and self.reducer.iteration == 1
        if not places or not (first_of_static or (self.find_unused_parameters and not self.static_graph)):
            return output
        for at, leaf in zip(places, _DDPSink.apply(self.reducer, *[leaves[at] for at in places])):
            leaves[at] = leaf
        return tree_unflatten(leaves, spec)

    def _run(self, inputs: Any, kwargs: dict[str, Any]) -> Any:
        if self.mixed_precision is None:
            return self.module(*inputs, **kwargs)
        inputs, kwargs = cast_inputs((inputs, kwargs), self.mixed_precision)
        with low_precision(self.module, self.mixed_precision, self.parameters_to_ignore):
            return self.module(*inputs, **kwargs)

    def _before(self, syncs: bool) -> None:
        """The collectives that precede the forward pass."""
        if syncs:
            with self._told():
                self.reducer.check_finished()
            self.logger.note(self.reducer)
            self.reducer.moments = {}
            self.reducer.at("forward_compute_time_start")
        work = Join.notify_join_context(self)
        self.reducer.divide_by(None if work is None or self._divides_by_all else lambda: int(work.result()[0].item()))
        if is_grad_enabled():
            self.reducer.rebuild()
        if self.will_sync_module_buffers():
            self._sync_buffers()
        if self._join_config.enable:
            self._others_sync(syncs)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward pass brings the buffers in line with those of the first process."""
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self.modules_buffers)

    def _sync_buffers(self) -> None:
        root = self._last_of(True) if self._join_config.enable else 0
        _sync_params_and_buffers(self.process_group, self.modules_buffers, self.broadcast_bucket_size, root)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients accumulate in each process by itself; the first pass after this context reduces them."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # ---- uneven inputs

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context around a loop over inputs, of which processes may have different numbers.

        Gradients are divided by the number of all processes, or of those that still have inputs.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The collectives of an iteration, made by a process without inputs."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The processes whose gradients are reduced."""
        return self.process_group

    def _others_sync(self, syncs: bool) -> bool:
        """Whether those who have inputs reduce gradients in this iteration."""
        told = functions["tensor"]([float(syncs)], device=self.device)
        all_reduce(told, group=self.process_group)
        return bool(told.item())

    def _last_of(self, candidate: bool) -> int:
        """The highest rank of those that are candidates."""
        rank = functions["tensor"]([self.process_group.rank() if candidate else -1], device=self.device)
        everyones = functions["zeros"](self.process_group.size(), dtype=rank.dtype, device=self.device)
        everyones[self.process_group.rank()] = rank[0] + 1
        all_reduce(everyones, group=self.process_group)
        highest = int(everyones.max().item()) - 1
        if highest < 0:
            raise ValueError("BUG! Expected rank_cond to be true for at least one process.")
        return highest

    # ---- communication hooks

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Future]) -> None:
        """Let `hook(state, bucket)` reduce each bucket; it returns a future of the reduced flat tensor."""
        check_hook(hook)
        self._register(state, hook, hook.__qualname__, "register_comm_hook or register_builtin_comm_hook")

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        hook = {
            BuiltinCommHookType.ALLREDUCE: allreduce_hook, BuiltinCommHookType.FP16_COMPRESS: fp16_compress_hook,
        }[comm_hook_type]  # fmt: skip
        ways = "register_builtin_comm_hook or register_comm_hook"
        self._register(self.process_group, hook, str(comm_hook_type), ways)

    def _register(self, state: Any, hook: Callable[[Any, GradBucket], Future], name: str, ways: str) -> None:
        if self._comm_hooks:
            raise RuntimeError(f"{ways} can only be called once.")
        self._comm_hooks.append((hook, state))
        self.reducer.hook = lambda bucket: hook(state, bucket)
        self.logger.told["comm_hook"] = name

    # ---- the rest

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """Results of several devices, on one."""
        return gather(outputs, output_device, dim=self.dim)

    def scatter(self, inputs: Any, kwargs: dict[str, Any], device_ids: Any) -> Any:
        """The pieces of arguments for several devices."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    to_kwargs = scatter

    def _set_static_graph(self) -> None:
        """Rely on the graph's being the same in every iteration."""
        if self.static_graph:
            warn("You've set static_graph to be True, no need to set it again.")
            return
        with self._told():
            self.reducer.rely_on_graph()
        self.static_graph, self.logger.told["static_graph"] = True, 1

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    # ---- what is told of it

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors that are raised in here are told of with the logging data."""
        try:
            yield
        except Exception as error:
            self.logger.fail(error, self.reducer.iteration)
            raise

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return dict(self.logger.told)

    def _set_ddp_runtime_logging_sample_rate(self, sample_rate: int) -> None:
        with self._told():
            if sample_rate < 1:
                raise ValueError("DDP runtime logging sample rate should be equal or greater than 1")
        self.logger.rate = sample_rate


class _Shadow(JoinHook):
    """Takes part for a process that has no inputs left."""

    def __init__(self, ddp: DistributedDataParallel) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        ddp.reducer.rebuild()
        if ddp.will_sync_module_buffers():
            root = ddp._last_of(False)
            _sync_params_and_buffers(ddp.process_group, ddp.modules_buffers, ddp.broadcast_bucket_size, root)
        syncs = ddp._others_sync(False)
        ddp.require_forward_param_sync = syncs
        if syncs:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Give all what one of those has who were the last to be through."""
        ddp = self.ddp
        root = ddp._last_of(is_last_joiner)
        _sync_module_states(ddp.module, ddp.process_group, ddp.broadcast_bucket_size, root, ddp.parameters_to_ignore)


class _DDPSink(Function):
    """Hands on the outputs of a module; so that backward reaches all of them, and tells when it begins."""

    @staticmethod
    def forward(ctx: Any, reducer: Reducer, *outputs: Tensor) -> tuple[Any, ...]:
        ctx.set_materialize_grads(False)
        ctx.reducer = reducer
        return tuple([output.clone() for output in outputs])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        ctx.reducer.begin()
        return (None, *grads)
