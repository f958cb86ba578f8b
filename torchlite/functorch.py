"""`functorch`: the transforms of `torch.func` under their first names, which PyTorch means to take away."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import func, nn
from .core.op import functions
from .core.tensor import Tensor

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
    "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
    "make_fx", "vjp", "vmap",
]  # fmt: skip


def _leaving(newer: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that says, when it is called, that it goes and what is to be used instead."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                "We've integrated functorch into PyTorch. As the final step of the integration, "
                f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
                f"PyTorch >= 2.3. Please use `{newer}` instead; see the PyTorch 2.0 release notes and/or the "
                "`torch.func` migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
                FutureWarning,
                stacklevel=2,
            )
            return function(*args, **kwargs)

        return call

    return decorate


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = [
    _leaving(f"torch.func.{transform.__name__}")(transform)
    for transform in (
        func.functionalize, func.grad, func.grad_and_value, func.hessian, func.jacfwd, func.jacrev, func.jvp, func.vjp
    )
]  # fmt: skip
vmap = _leaving("torch.vmap")(func.vmap)


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


@_leaving("torch.func.functional_call")
def make_functional(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
    """A module's function, and a tuple of its parameters. The module itself stays as it is."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return _functional(FunctionalModule, model, disable_autograd_tracking)


@_leaving("torch.func.functional_call")
def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
    """A module's function, and tuples of its parameters and buffers. The module itself stays as it is."""
    return _functional(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


@_leaving("torch.func.stack_module_state")
def combine_state_for_ensemble(models: Sequence[nn.Module]) -> tuple[Any, ...]:
    """The function of several modules of one class, and their stacked parameters and buffers."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    (made, *_), *_ = parts = [_functional(FunctionalModuleWithBuffers, m, True) for m in models]
    stack = functions["stack"]
    params, buffers = [tuple(map(stack, zip(*[part[at] for part in parts], strict=True))) for at in (1, 2)]
    return made, params, buffers


def make_fx(*args: Any, **kwargs: Any) -> Any:
    """Tracing, which there is none of."""
    raise NotImplementedError("torchlite runs operations as they are called, and makes no graphs of functions")
