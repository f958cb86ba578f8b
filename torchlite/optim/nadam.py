"""NAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, follow, number, shrink_of
from .flat_arrays import scalar_dtype
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options
from .together import Together, count_of

__all__ = ["NAdam", "nadam"]


def _formula(
    xp: Namespace, p: Any, g: Any, mean: Any, square: Any, shrink: Any, decay: Any, new1: Any, beta2: Any, new2: Any,
    bias2: Any, eps: Any, rate: Any, rate_of_mean: Any,
) -> None:  # fmt: skip
    """Dozat 2016: Adam with Nesterov's momentum."""
    g = decayed(p, g, decay, shrink)
    follow(g, mean, square, new1, beta2, new2)
    size = xp.sqrt(square / bias2) + eps
    p -= g / size * rate
    p -= mean / size * rate_of_mean


class NAdam(Elementwise):
    """Adam with Nesterov's momentum, whose strength grows over the first steps."""

    formula = _formula
    kept: ClassVar = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    twice = ("params", "exp_avg_sq")
    together = "params, mu_products and state_steps"
    later: ClassVar[dict[str, Any]] = {**Elementwise.later, "decoupled_weight_decay": False}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        order = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
        )
        super().__init__(params, options(locals(), "lr eps betas weight_decay momentum_decay", order))

    def counts(self, group: dict[str, Any]) -> dict[str, float]:
        return {"step": 0.0, "mu_product": 1.0}

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        step = counts[0] = counts[0] + 1
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        now, next_ = [beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)]
        product = counts[1] * now
        if product.__class__ is float:  # as it is stored; on a device, it lies there
            product = scalar_dtype().numpy.type(product).item()
        counts[1] = product
        return (
            shrink_of(group), decay_of(group), 1 - beta1, float(beta2), 1 - beta2, 1 - beta2**step, group["eps"],
            lr * (1 - now) / (1 - product), lr * next_ / (1 - product * next_),
        )  # fmt: skip

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step = state["step"].item()
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        g = decayed_tensor(p, grad, group)
        now, next_ = [beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)]
        product = state["mu_product"].mul_(now)
        mean = state["exp_avg"].lerp_(g, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        size = square.div(1 - beta2**step).sqrt()
        far = product.item() * next_
        size.add_(group["eps"])
        p.addcdiv_(g, size, value=-lr * (1 - now) / (1 - product.item()))
        p.addcdiv_(mean, size, value=-lr * next_ / (1 - far))

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        g = decayed_tensor(p, grad, group)
        mean = state["exp_avg"].lerp_(g, 1 - beta1)
        size = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2).sqrt()
        step = count_of(state, 3)
        now, next_ = [beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)]
        product = state["mu_product"].mul_(now)
        size.div_((1 - beta2**step) ** 0.5).add_(group["eps"])
        rates = lr * (1 - now) / (1 - product.item()) * -1, lr * next_ / (1 - product.item() * next_) * -1
        for change, rate in zip((g, mean), rates, strict=True):
            p.addcdiv_(change, size, value=rate)


@on_lists(NAdam, exp_avgs="exp_avg", exp_avg_sqs="exp_avg_sq", mu_products="mu_product", state_steps="step")
def nadam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor], state_steps: list[Tensor], decoupled_weight_decay: bool = False,
    foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, has_complex: bool = False,
    maximize: bool = False, *, beta1: float, beta2: float, lr: float | Tensor, weight_decay: float,
    momentum_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of `NAdam` on lists of tensors."""
