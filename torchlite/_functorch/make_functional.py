"""`torch._functorch.make_functional`: modules as functions of their parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from .. import func, nn
from ..core.machine import Tensor, functions
from ..core.values import DeviceLike

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init",
    "functional_init_with_buffers", "make_functional", "make_functional_deprecated_v1", "make_functional_with_buffers",
    "make_functional_with_buffers_deprecated_v1", "transpose_stack",
]  # fmt: skip


class FunctionalModuleWithBuffers(nn.Module):
    """A module as a function of its parameters, its buffers, and its arguments."""

    __module__ = "torch._functorch.make_functional"

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.stateless_model = model.to("meta")
        self.param_names = tuple([name for name, _ in model.named_parameters()])
        self.buffer_names = tuple([name for name, _ in model.named_buffers()])

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters and its arguments."""

    __module__ = "torch._functorch.make_functional"

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def _functional(kind: type[nn.Module], model: nn.Module, untracked: bool) -> tuple[Any, ...]:
    model = copy.deepcopy(model)
    params, buffers = tuple(model.parameters()), tuple(model.buffers())
    if untracked:
        for p in params:
            p.requires_grad_(False)
    made = kind(copy.deepcopy(model))
    return (made, params) if kind is FunctionalModule else (made, params, buffers)


def _refuse_buffers(model: nn.Module, name: str, instead: str) -> None:
    if any(True for _ in model.buffers()):
        raise RuntimeError(f"{name}(model): `model` has buffers. Please use {instead}(model) instead.")


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
    """A module's function, and a tuple of its parameters. The module itself stays as it is."""
    _refuse_buffers(model, "make_functional", "make_functional_with_buffers")
    return _functional(FunctionalModule, model, disable_autograd_tracking)


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
    """A module's function, and tuples of its parameters and buffers. The module itself stays as it is."""
    return _functional(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def transpose_stack(tuple_of_tuple_of_tensors: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    """The first tensors of all sequences stacked, the second ones, and so on, without history."""
    columns = zip(*tuple_of_tuple_of_tensors, strict=True)
    return tuple([functions["stack"](column).detach() for column in columns])


def combine_state_for_ensemble(models: Sequence[nn.Module]) -> tuple[Any, ...]:
    """The function of several modules of one class, and their stacked parameters and buffers."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made, params, buffers = zip(*[_functional(FunctionalModuleWithBuffers, m, True) for m in models], strict=True)
    return made[0], transpose_stack(params), transpose_stack(buffers)


# ---- the first forms, whose functions take their arguments as one tuple


def make_functional_deprecated_v1(model: nn.Module) -> tuple[Any, ...]:
    """A module's parameters, its function of them and a tuple of arguments, and the parameters' names."""
    _refuse_buffers(model, "make_functional_deprecated_v1", "make_functional_with_buffers_deprecated_v1")
    made, params = _functional(FunctionalModule, model, False)
    return params, lambda weights, data: made(weights, *data), made.param_names


def make_functional_with_buffers_deprecated_v1(model: nn.Module) -> tuple[Any, ...]:
    """A module's parameters and buffers, its function of them and a tuple of arguments, and the names of both."""
    made, params, buffers = _functional(FunctionalModuleWithBuffers, model, False)

    def fun(weights: Sequence[Tensor], buffers: Sequence[Tensor], data: Sequence[Any]) -> Any:
        return made(weights, buffers, *data)

    return params, buffers, fun, made.param_names, made.buffer_names


def _init(make: Callable[..., Any], states: int, model_class: Any, ensemble_shape: Any, device: DeviceLike) -> Any:
    """What makes a model and then its function; `states` says how many tuples of tensors `make` begins with."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            return make(model_class(*args, **kwargs).to(device))
        (count,) = ensemble_shape
        if count <= 0:
            raise ValueError(f"num_models {count} should be > 0")
        made = [make(model_class(*args, **kwargs).to(device)) for _ in range(count)]
        stacked = [transpose_stack([each[at] for each in made]) for at in range(states)]
        return *stacked, *made[0][states:]

    return wrapped


def functional_init(model_class: Any, ensemble_shape: Sequence[int] = (), device: Any = "cpu") -> Callable[..., Any]:
    """What makes models of a class, by the arguments of this, and gives what `make_functional_deprecated_v1` does.

    With an ensemble's shape, so many models are made, and their parameters are stacked.
    """
    return _init(make_functional_deprecated_v1, 1, model_class, ensemble_shape, device)


def functional_init_with_buffers(
    model_class: Any, ensemble_shape: Sequence[int] = (), device: DeviceLike = "cpu"
) -> Callable[..., Any]:
    """The same for models with buffers."""
    return _init(make_functional_with_buffers_deprecated_v1, 2, model_class, ensemble_shape, device)
