"""Adamax."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options
from .together import raised

__all__ = ["Adamax", "adamax"]


def _formula(
    xp: Namespace, p: Any, g: Any, mean: Any, highest: Any, decay: Any, new1: Any, beta2: Any, eps: Any, rate: Any
) -> None:
    """Adam with the largest gradient, fading, in place of the root of the mean square."""
    g = decayed(p, g, decay)
    mean += (g - mean) * new1
    highest[...] = xp.maximum(highest * beta2, xp.absolute(g) + eps)
    p -= mean / highest * rate


class Adamax(Elementwise):
    """Steps along the mean gradient, each element divided by its largest size, which fades."""

    formula = _formula
    kept: ClassVar = {"exp_avg": 0.0, "exp_inf": 0.0}
    twice = ("exp_inf",)

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), "lr eps betas weight_decay", order))

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        step = counts[0] = counts[0] + 1
        beta1, beta2 = group["betas"]
        rate = number(group["lr"], group) / (1 - beta1**step)
        return decay_of(group), 1 - beta1, float(beta2), group["eps"], rate

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        g = decayed_tensor(p, grad, group)
        mean, highest = state["exp_avg"].lerp_(g, 1 - beta1), state["exp_inf"].mul_(beta2)
        raised(highest, g.abs().add_(group["eps"]))
        p.addcdiv_(mean, highest, value=-number(group["lr"], group) / (1 - beta1 ** state["step"].item()))


@on_lists(Adamax, exp_avgs="exp_avg", exp_infs="exp_inf", state_steps="step")
def adamax(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float, beta2: float,
    lr: float | Tensor, weight_decay: float,
) -> None:  # fmt: skip
    """One step of `Adamax` on lists of tensors."""
