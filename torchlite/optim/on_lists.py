"""The functional forms of the algorithms: one step on lists of parameters, gradients and state."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..autograd.grad_mode import grad_enabled
from ..core.machine import Tensor

_F = TypeVar("_F", bound=Callable[..., None])

# Options that an optimizer has as one.
_TOGETHER = {
    "betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max"),
    "eps": ("eps1", "eps2"),
}  # fmt: skip


def on_lists(algorithm: type, fixed: dict[str, Any] | None = None, **kept: str) -> Callable[[_F], _F]:
    """Give a declaration its body: a step of `algorithm`, with some options `fixed`.

    Its first two arguments are the parameters and their gradients; `kept` says which other lists are which part of the
    state. What is left are options.
    """

    def decorate(declared: _F) -> _F:
        signature = inspect.signature(declared)
        # The last two are for making new state, which happens elsewhere.
        defaults = {"differentiable": False, "maximize": False, "lr": 0.0, "initial_accumulator_value": 0.0}

        @functools.wraps(declared)
        def step(*args: Any, **kwargs: Any) -> None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            params, grads, *_ = bound.args
            lists = {state: bound.arguments[name] for name, state in kept.items()}
            group = {**defaults, **(fixed or {}), **{k: v for k, v in bound.arguments.items() if k not in kept}}
            for option, parts in _TOGETHER.items():
                if parts[0] in group:
                    group[option] = tuple(group[part] for part in parts)
            if not all(isinstance(t, Tensor) for t in lists.get("step", ())):
                raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
            found, scale = group.get("found_inf"), group.get("grad_scale")
            if found is not None and found.item():
                return
            optimizer: Any = object.__new__(algorithm)
            with grad_enabled(group["differentiable"]):
                for i, (p, grad) in enumerate(zip(params, grads)):
                    state = {name: values[i] for name, values in lists.items() if values and values[i] is not None}
                    optimizer.update(p, grad if scale is None else grad.div_(scale), state, group)
                    for name, values in lists.items():
                        if values:
                            values[i] = state.get(name)

        return step  # type: ignore[return-value]

    return decorate
