"""AdamW: Adam with weight decay that stands apart from the gradient."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor
from .adam import FUSED_KEEPS, FUSED_TAKES, Adam
from .fused import fused
from .on_lists import on_lists
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Adam; besides, parameters shrink by `lr * weight_decay` at each step."""

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints of older versions do not say so
            group["decoupled_weight_decay"] = True


AdamW._fused = staticmethod(fused("adamw", AdamW, FUSED_KEEPS, FUSED_TAKES, decoupled_weight_decay=True))


@on_lists(
    AdamW, {"decoupled_weight_decay": True},
    exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", max_exp_avg_sqs="max_exp_avg_sq", state_steps="step",
)  # fmt: skip
def adamw(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False,
    differentiable: bool = False, fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, has_complex: bool = False, *, amsgrad: bool, beta1: float, beta2: float,
    lr: float | Tensor, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `AdamW` on lists of tensors."""
