"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor
from ..core.native import in_c
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options

__all__ = ["RMSprop", "rmsprop"]


def _formula(xp: Namespace, p: Any, g: Any, square: Any, *more: Any) -> None:
    """Hinton's lecture 6e; centered, Graves 2013. The last of `more` say which further state there is."""
    *state, decay, alpha, new, eps, rate, momentum, centered = more
    g = decayed(p, g, decay)
    square *= alpha
    square += g * g * new
    spread = square
    if centered:
        mean = state[-1]
        mean += (g - mean) * new
        spread = square - mean * mean
    g = g / (xp.sqrt(spread) + eps)
    if momentum is not None:
        velocity = state[0]
        velocity *= momentum
        velocity += g
        g = velocity
    p -= g * rate


class RMSprop(Elementwise):
    """Steps along the gradient, each element divided by the root of its mean square."""

    formula = in_c("optim.rmsprop", _formula)
    twice = ("square_avg", "momentum_buffer")
    filled = True
    later: ClassVar[dict[str, Any]] = {"momentum": 0, "centered": False, **Elementwise.later}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        super().__init__(params, options(locals(), "lr eps momentum weight_decay alpha", order))

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        made = {"square_avg": 0.0}
        if group["momentum"] > 0:
            made["momentum_buffer"] = 0.0
        if group["centered"]:
            made["grad_avg"] = 0.0
        return made

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        counts[0] += 1
        alpha, momentum = group["alpha"], group["momentum"]
        return (
            decay_of(group), float(alpha), 1.0 - alpha, group["eps"], number(group["lr"], group),
            float(momentum) if momentum > 0 else None, group["centered"],
        )  # fmt: skip

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        alpha, rate = group["alpha"], number(group["lr"], group)
        g = decayed_tensor(p, grad, group)
        square = spread = state["square_avg"]
        square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(g, 1 - alpha)
            spread = square.addcmul(mean, mean, value=-1).sqrt_().add_(group["eps"])
        else:
            spread = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            p.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, spread), alpha=-rate)
        else:
            p.addcdiv_(g, spread, value=-rate)


@on_lists(
    RMSprop, square_avgs="square_avg", grad_avgs="grad_avg", momentum_buffer_list="momentum_buffer", state_steps="step"
)
def rmsprop(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *,
    lr: float | Tensor, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool,
) -> None:  # fmt: skip
    """One step of `RMSprop` on lists of tensors."""
