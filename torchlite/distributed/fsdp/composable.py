"""`fully_shard`: modules stay what they are, and keep shards of their parameters."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core.machine import Tensor
from ...core.values import bear_name
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ..device_mesh import DeviceMesh, init_device_mesh
from ..process_group import ProcessGroup
from ..world import get_world_size
from .handle import Course
from .parameter_group import ParameterGroup
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, cast

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]

_STATE = "_fsdp_state"


class _State:
    """What a sharded module knows of itself."""

    def __init__(self, module: Module, group: ParameterGroup | None, policy: MixedPrecisionPolicy, frees: Any) -> None:
        self.module, self.group, self.policy, self.frees = module, group, policy, frees
        self.is_root: bool | None = None
        self.course = Course()

    def become_root(self) -> None:
        """The first to compute is the outermost of all inside; it keeps its parameters, unless it was told."""
        for part in self.module.modules():
            if isinstance(part, FSDPModule):
                state = part._get_fsdp_state()
                state.is_root, state.course = part is self.module, self.course
                if state.group is not None:
                    state.group.course = self.course
                    state.group.frees = (not state.is_root) if state.frees is None else bool(state.frees)

    def run(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute with whole parameters."""
        if self.is_root is None:
            self.become_root()
        if self.is_root:
            self.course.begin()
        if self.policy.cast_forward_inputs:
            args, kwargs = cast((args, kwargs), self.policy.param_dtype)
        with contextlib.nullcontext() if self.group is None else self.group.unsharded():
            return cast(forward(*args, **kwargs), self.policy.output_dtype)


class UnshardHandle:
    """Waits until parameters that were asked for are here."""

    def __init__(self, module: FSDPModule) -> None:
        self._module = module

    def wait(self) -> None:
        """Let the module have its whole parameters."""
        self._module.unshard()


class FSDPModule:
    """What modules that `fully_shard` was called on can do besides."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Making another of a sharded module's class makes one of the class that it was of."""
        plain = cls.__mro__[2]
        made = plain.__new__(plain)  # type: ignore[call-overload]
        made.__init__(*args, **kwargs)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._get_fsdp_state().run(super().__call__, args, kwargs)  # type: ignore[misc]

    def _get_fsdp_state(self) -> _State:
        return self.__dict__[_STATE]

    def _groups(self, recurse: bool = True) -> Iterator[ParameterGroup]:
        parts = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        states = [part._get_fsdp_state() for part in parts if isinstance(part, FSDPModule)]
        return (state.group for state in states if state.group is not None)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        for group in self._groups(recurse=False):
            group.close()
        super()._apply(*args, **kwargs)  # type: ignore[misc]
        for group in self._groups(recurse=False):
            group.reset()
        return self

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Let this module, but not those inside that are sharded by themselves, have its whole parameters."""
        for group in self._groups(recurse=False):
            if async_op:
                group.prefetch()
            else:
                group.open()
        return UnshardHandle(self) if async_op else None

    def reshard(self) -> None:
        """Keep the shards only."""
        for group in self._groups(recurse=False):
            group.close()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether gradients are reduced, or accumulate in each process by itself until they are."""
        for group in self._groups(recurse):
            group.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether replicas of shards reduce gradients among themselves."""
        for group in self._groups(recurse):
            group.syncs_replicas = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are freed after forward, and gathered again for backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for part in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(part, FSDPModule):
                state = part._get_fsdp_state()
                state.frees = reshard_after_forward
                if state.group is not None:
                    state.group.frees, state.group.near = reshard_after_forward, None

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether whole parameters are freed after backward."""
        for group in self._groups(recurse):
            group.frees_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Gather the parameters of these while this one computes."""
        for group in self._groups(recurse=False):
            group.next_forward = [other for part in modules for other in part._groups(recurse=False)]

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Gather the parameters of these, in place of those that computed before, while this one goes back."""
        for group in self._groups(recurse=False):
            group.next_backward = [other for part in modules for other in part._groups(recurse=False)]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by this, in place of the number of processes."""
        for group in self._groups(recurse=False):
            group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether the next backward pass is the last of an iteration; nothing waits for that here."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward needs the parameters; they are gathered here when it asks for them."""


for _name, _cls in (("FSDPModule", FSDPModule), ("UnshardHandle", UnshardHandle)):
    bear_name(_cls, "torch.distributed.fsdp")


@functools.cache
def _class_of(plain: type) -> type:
    return type(f"FSDP{plain.__name__}", (FSDPModule, plain), {"__module__": plain.__module__})


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Share out the parameters of a module that no module inside of it has shared out yet; the module.

    They become tensors over `mesh`, cut along their first dimension. To compute, the module gathers them, all at once;
    in backward, it reduces their gradients. In a mesh of two dimensions, the first is that of replicas. Between forward
    and backward they are with all processes, whole with each (False), or with as many neighbours as a number says.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if isinstance(each, (ModuleList, ModuleDict)) and type(each).forward is Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
    mesh = mesh or init_device_mesh("cpu", (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    frees, near = _after_forward(reshard_after_forward, mesh)
    params = _params_of(modules, ignored_params or set())
    group = None
    if params:
        group = ParameterGroup(
            params, mesh, shard_placement_fn, isinstance(offload_policy, CPUOffloadPolicy),
            param_dtype=mp_policy.param_dtype, reduce_dtype=mp_policy.reduce_dtype,
            frees=frees is not False,
        )  # fmt: skip
        group.near = near
    for each in modules:
        each.__class__ = _class_of(type(each))  # type: ignore[arg-type]
        each.__dict__[_STATE] = _State(each, group if each is modules[0] else None, mp_policy, frees)
        each.register_state_dict_pre_hook(_reshard)
        each._register_load_state_dict_pre_hook(_reshard, with_module=True)
    return module


def _reshard(module: FSDPModule, *_: Any) -> None:
    """States are of shards, which may be written to: what was gathered is out of date."""
    module.reshard()


def _after_forward(said: bool | int | None, mesh: DeviceMesh) -> tuple[bool | None, ProcessGroup | None]:
    """Whether whole parameters are freed after forward, and the processes that keep them together, if not all do."""
    if said is None or isinstance(said, bool):
        return said, None
    count = mesh.size(mesh.ndim - 1)
    if said < 1 or count % said:
        raise ValueError(f"If passing reshard_after_forward as an int, it should be a factor of {count}, not {said}")
    if said == 1:
        _warn_of_one()
        return False, None
    return True, None if said == count else mesh._near(said)


@functools.cache
def _warn_of_one() -> None:
    logging.getLogger(__name__).warning(
        "reshard_after_forward=1 (int) means resharding parameters to world size 1, instead of "
        "reshard_after_forward=True (bool)"
    )


def _params_of(modules: Sequence[Module], ignored: set[Any]) -> list[Any]:
    """The parameters that are not shared out yet: who has them, their first name, and they themselves."""
    found: dict[Tensor, list[tuple[Module, str, str]]] = {}
    for module in modules:
        _collect(module, "", ignored, found, set())
    return [(tuple([(owner, name) for owner, name, _ in where]), where[0][2], p) for p, where in found.items()]


def _collect(module: Module, prefix: str, ignored: set[Any], found: dict[Any, Any], seen: set[Module]) -> None:
    if module in seen or isinstance(module, FSDPModule):
        return
    seen.add(module)
    for name, param in module._parameters.items():
        if param is not None and param not in ignored:
            found.setdefault(param, []).append((module, name, f"{prefix}{name}"))
    for name, child in module.named_children():
        _collect(child, f"{prefix}{name}.", ignored, found, seen)


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let a method of a sharded module compute with whole parameters, as its forward does."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    plain = getattr(module, method_name)

    @functools.wraps(plain)
    def computed(*args: Any, **kwargs: Any) -> Any:
        return module._get_fsdp_state().run(plain, args, kwargs)

    setattr(module, method_name, computed)


def share_comm_ctx(modules: Sequence[FSDPModule]) -> None:
    """Let modules that compute one after the other, none inside another, be gathered as one sequence."""
    course = Course()
    for module in modules:
        for group in module._groups():
            group.course = course
