"""An optimizer after whose steps parameters are averaged among processes."""

from __future__ import annotations

from typing import Any

from ...core.values import shown_in, warn
from ...optim.optimizer import Optimizer
from ..algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


@shown_in("torch.distributed.optim.post_localSGD_optimizer")
class PostLocalSGDOptimizer(Optimizer):
    """Takes an optimizer's steps, after which an `averager` averages the parameters now and then.

    With `post_localSGD_hook` this is local SGD: gradients are averaged at first, and parameters now and then later.
    `state_dict` is the optimizer's, and the averager's `step`.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim = optim
        self.param_groups = optim.param_groups
        self.averager = averager

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and how many steps the averager has counted."""
        return self.optim.state_dict() | {"step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over both; the averager counts from 0 where its count is not there."""
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.")
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        """Take the optimizer's step, and average parameters where it is time."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or fill them with zeros."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Give the optimizer more parameters."""
        self.optim.add_param_group(param_group)
