"""RAdam."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.machine import Tensor
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, follow, number, shrink_of
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options
from .together import Together, count_of

__all__ = ["RAdam", "radam"]


def _formula(
    xp: Namespace, p: Any, g: Any, mean: Any, square: Any, shrink: Any, decay: Any, new1: Any, beta2: Any, new2: Any,
    eps: Any, rate: Any, strength: Any,
) -> None:  # fmt: skip
    """Liu et al. 2020; without `strength`, the variance is not known well enough yet to divide by it."""
    g = decayed(p, g, decay, shrink)
    follow(g, mean, square, new1, beta2, new2)
    if strength is None:
        p -= mean * rate
    elif strength.__class__ is float:
        p -= mean / (xp.sqrt(square) + eps) * (rate * strength)
    else:  # on a device, where it is 0 for none
        p -= xp.where(strength > 0, mean / (xp.sqrt(square) + eps) * strength, mean) * rate


class RAdam(Elementwise):
    """Adam that divides by the root of the mean square only when it knows this well enough."""

    formula = _formula
    kept: ClassVar = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    twice = ("exp_avg_sq",)
    later: ClassVar[dict[str, Any]] = {**Elementwise.later, "decoupled_weight_decay": False}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        super().__init__(params, options(locals(), "lr eps betas weight_decay", order))

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        step = counts[0] = counts[0] + 1
        beta1, beta2 = group["betas"]
        rate = number(group["lr"], group) / (1 - beta1**step)
        strength = self._strength(step, beta2, step.__class__ is not float)
        if strength is not None:
            strength = strength * (1 - beta2**step) ** 0.5
        return shrink_of(group), decay_of(group), 1 - beta1, float(beta2), 1 - beta2, group["eps"], rate, strength

    @staticmethod
    def _strength(step: Any, beta2: float, on_device: bool = False) -> Any:
        """By how much the variance that is known differs from what it comes to, once enough of it is known.

        Of steps that are counted on a device, it is 0 before.
        """
        most = 2 / (1 - beta2) - 1  # the length of the average in the long run
        length = most - 2 * step * beta2**step / (1 - beta2**step)
        squared = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        if on_device:
            return abs(squared) ** 0.5 * (length > 5)
        return squared**0.5 if length > 5 else None

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, (beta1, beta2) = state["step"].item(), group["betas"]
        g = decayed_tensor(p, grad, group)
        mean = state["exp_avg"].lerp_(g, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        change = mean / (1 - beta1**step) * number(group["lr"], group)
        strength = self._strength(step, beta2)
        if strength is not None:
            change = change * ((1 - beta2**step) ** 0.5 / square.sqrt().add_(group["eps"])) * strength
        p.add_(change, alpha=-1.0)

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        strengths = [self._strength(step, beta2) for step in count_of(state, 3)]
        g = decayed_tensor(p, grad, group)
        mean = state["exp_avg"].lerp_(g, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        step = count_of(state, 2)
        parts = [s or 0 for s in strengths], [float(s is None) for s in strengths]
        rates = [lr * np.array(part, object) / (1 - beta1**step) * -1 for part in parts]
        size = square.sqrt().add_(group["eps"]).div_((1 - beta2**step) ** 0.5 * rates[0])
        p.addcmul_(mean, size.reciprocal_().add_(rates[1]))


@on_lists(RAdam, exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", state_steps="step")
def radam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
    differentiable: bool = False, capturable: bool = False, has_complex: bool = False, maximize: bool = False, *,
    beta1: float, beta2: float, lr: float | Tensor, weight_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of `RAdam` on lists of tensors."""
