"""Modules wrapped so that what their backward pass needs is computed again, or waits in the host's memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn.modules.module import Module
from ....nn.parameter import Parameter
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import lambda_auto_wrap_policy, wrap_inside

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_INSIDE = "_checkpoint_wrapped_module"
_PREFIX = f"{_INSIDE}."


class CheckpointImpl(Enum):
    """How a module runs again: in a backward pass of its own, or by hooks of saved tensors."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module, ABC):
    """A module that runs another, and is called by its names: in parameters, states and attributes."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_wrapper)
        self._register_load_state_dict_pre_hook(_with_wrapper)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Parameter]]:
        """The parameters, by their names in the module that is run."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter


def _renamed(state_dict: dict[str, Any], old: str, new: str) -> None:
    for key in [key for key in state_dict if key.startswith(old)]:
        state_dict[new + key.removeprefix(old)] = state_dict.pop(key)


def _without_wrapper(module: Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> dict[str, Any]:
    _renamed(state_dict, prefix + _PREFIX, prefix)
    return state_dict


def _with_wrapper(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    _renamed(state_dict, prefix, prefix + _PREFIX)


class OffloadWrapper(ActivationWrapper):
    """A module of which what backward needs waits in the host's memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that runs again when backward needs what it computed."""

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module, names = self._checkpoint_wrapped_module, tuple(kwargs)
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not names:
            return self.checkpoint_fn(module, *args, **kwargs)

        def run(*given: Any) -> Any:  # a backward pass of its own knows tensors by their position
            return module(*given[: len(args)], **dict(zip(names, given[len(args) :], strict=True)))

        return self.checkpoint_fn(run, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """A module of which what backward needs waits in the host's memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any,
) -> Module:  # fmt: skip
    """A module that runs again when backward needs what it computed."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True, auto_wrap_policy: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Wrap the modules inside of a model of which `check_fn`, or a policy, says so."""
    policy = partial(lambda_auto_wrap_policy, lambda_fn=check_fn) if auto_wrap_policy is None else auto_wrap_policy
    if not callable(policy):
        raise ValueError(f"Expected {policy} to be callable or be a pre-defined wrap policy")
    wrap_inside(model, policy, checkpoint_wrapper_fn, set(), least=0)
