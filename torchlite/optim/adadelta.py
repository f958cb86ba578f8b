"""Adadelta."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.machine import Tensor
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options

__all__ = ["Adadelta", "adadelta"]


def _formula(
    xp: Namespace, p: Any, g: Any, square: Any, change2: Any, decay: Any, rho: Any, new: Any, eps: Any, rate: Any
) -> None:
    """Zeiler 2012; `change2` is the mean square of the changes."""
    g = decayed(p, g, decay)
    square *= rho
    square += g * g * new
    change = xp.sqrt(change2 + eps) / xp.sqrt(square + eps) * g
    change2 *= rho
    change2 += change * change * new
    p -= change * rate


class Adadelta(Elementwise):
    """Steps whose size follows from that of gradients and of the changes before."""

    formula = _formula
    kept: ClassVar = {"square_avg": 0.0, "acc_delta": 0.0}
    twice = ("square_avg", "acc_delta")
    counts_first = filled = True

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, options(locals(), "lr rho eps weight_decay", order))

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        counts[0] += 1
        rho = group["rho"]
        return decay_of(group), float(rho), 1.0 - rho, group["eps"], number(group["lr"], group)

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        g = decayed_tensor(p, grad, group)
        square, change2 = state["square_avg"], state["acc_delta"]
        size = square.mul_(rho).addcmul_(g, g, value=1 - rho).add(eps).sqrt_()
        change = change2.add(eps).sqrt_().div_(size).mul_(g)
        change2.mul_(rho).addcmul_(change, change, value=1 - rho)
        p.add_(change, alpha=-number(group["lr"], group))


@on_lists(Adadelta, square_avgs="square_avg", acc_deltas="acc_delta", state_steps="step")
def adadelta(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], acc_deltas: list[Tensor],
    state_steps: list[Tensor], capturable: bool = False, foreach: bool | None = None, differentiable: bool = False,
    has_complex: bool = False, *, lr: float | Tensor, rho: float, eps: float, weight_decay: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adadelta` on lists of tensors."""
