"""Adam and AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor
from ..core.native import in_c
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number, shrink_of
from .fused import fused
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import check_fused, options
from .together import count_of, raised

__all__ = ["Adam", "adam"]


def _formula(xp: Namespace, p: Any, g: Any, mean: Any, square: Any, *more: Any) -> None:
    """Kingma and Ba 2015; `highest` is what AMSGrad keeps of `square` (Reddi et al. 2018)."""
    *highest, shrink, decay, new1, beta2, new2, eps, rate = more
    g = decayed(p, g, decay, shrink)
    change = g - mean
    change *= new1
    mean += change
    change = g * g
    change *= new2
    square *= beta2
    square += change
    for h in highest:
        h[...] = xp.maximum(h, square)
        square = h
    change = mean / (xp.sqrt(square) + eps)
    change *= rate
    p -= change


class Adam(Elementwise):
    """Steps along the mean gradient, each element divided by the root of its mean square."""

    formula = in_c("optim.adam", _formula)
    twice = ("exp_avg_sq",)
    later: ClassVar[dict[str, Any]] = {
        "amsgrad": False, **Elementwise.later, "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        alone = foreach and not capturable
        if isinstance(lr, Tensor) and alone:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        order = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
        )
        defaults = options(locals(), "lr eps betas weight_decay", order)
        if isinstance(betas[0], Tensor) is not isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if alone:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        super().__init__(params, defaults)
        check_fused(self, fused, foreach, differentiable)

    def update_by_sparse(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        return _KEPT_HIGHEST if group["amsgrad"] else _KEPT

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        step = counts[0] = counts[0] + 1
        lr, (beta1, beta2) = number(group["lr"], group), [number(b, group) for b in group["betas"]]
        root = (1 - beta2**step) ** 0.5  # by which the root of the mean square is to be divided
        eps, rate = group["eps"] * root, lr * root / (1 - beta1**step)
        return shrink_of(group), decay_of(group), 1 - beta1, beta2, 1 - beta2, eps, rate

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        g = decayed_tensor(p, grad, group)
        lr, (beta1, beta2) = number(group["lr"], group), [number(b, group) for b in group["betas"]]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        step = count_of(state, 2)
        if group["amsgrad"]:
            square = raised(state["max_exp_avg_sq"], square)
        root = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        p.addcdiv_(mean, root, value=-lr / (1 - beta1**step))


_KEPT = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
_KEPT_HIGHEST = {**_KEPT, "max_exp_avg_sq": 0.0}
FUSED_KEEPS = {**{name: f"{name}s" for name in _KEPT_HIGHEST}, "step": "state_steps"}
FUSED_TAKES = "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize"
Adam._fused = staticmethod(fused("adam", Adam, FUSED_KEEPS, FUSED_TAKES, decoupled_weight_decay=False))


@on_lists(Adam, exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", max_exp_avg_sqs="max_exp_avg_sq", state_steps="step")
def adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False,
    differentiable: bool = False, fused: bool | None = None, grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None, has_complex: bool = False, decoupled_weight_decay: bool = False, *,
    amsgrad: bool, beta1: float, beta2: float, lr: float | Tensor, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adam` on lists of tensors."""
