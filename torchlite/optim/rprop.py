"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import Namespace, preserve_format
from .by_element import Elementwise, number
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options
from .together import Together

__all__ = ["Rprop", "rprop"]


def _formula(
    xp: Namespace, p: Any, g: Any, before: Any, size: Any, shorter: Any, longer: Any, least: Any, most: Any
) -> None:
    """Riedmiller and Braun 1993: steps grow while the gradient keeps its sign, and shrink when it changes."""
    trend = g * before
    turned = trend < 0
    size[...] = xp.clip(xp.where(turned, size * shorter, xp.where(trend > 0, size * longer, size)), least, most)
    g = xp.where(turned, 0 * g, g)
    p -= xp.sign(g) * size
    before[...] = g


class Rprop(Elementwise):
    """Steps of an own size for each element, of which the gradient gives only the direction."""

    formula = _formula
    twice = ("step_size",)
    filled = True

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr etas step_sizes foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), "lr etas", order))

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        counts[0] += 1
        return tuple([number(x, group) for x in (*group["etas"], *group["step_sizes"])])

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (shorter, longer), (least, most) = group["etas"], group["step_sizes"]
        trend = (grad * state["prev"]).sign()
        for sign, factor in ((trend.gt, longer), (trend.lt, shorter), (trend.eq, 1)):
            trend[sign(0)] = factor
        state["step_size"].mul_(trend).clamp_(least, most)
        g = grad.clone(memory_format=preserve_format)
        g[trend.eq(shorter)] = 0
        p.addcmul_(g.sign(), state["step_size"], value=-1)
        state["prev"].copy_(g)

    def _begun(self, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Over lists, what is made of gradients is negated later."""
        return super()._begun(grad, state, {**group, "maximize": False} if isinstance(grad, Together) else group)

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (shorter, longer), (least, most) = group["etas"], group["step_sizes"]
        trends = grad.mul(state["prev"])
        if group["maximize"]:
            trends.neg_()
        kept = state["prev"].copy_(grad)
        if group["maximize"]:
            kept.neg_()
        for trend in trends.sign_().tensors:
            for sign, factor in ((trend.gt, longer), (trend.lt, shorter), (trend.eq, 1)):
                trend[sign(0)] = factor
        for size in state["step_size"].mul_(trends).tensors:
            size.clamp_(least, most)
        for g, trend in zip(kept.tensors, trends.tensors, strict=True):
            g.copy_(functions["where"](trend.eq(shorter), 0, g))
        p.addcmul_(Together([g.sign() for g in kept.tensors]), state["step_size"], value=-1)


@on_lists(Rprop, prevs="prev", step_sizes="step_size", state_steps="step")
def rprop(
    params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False, maximize: bool = False,
    differentiable: bool = False, has_complex: bool = False, *, step_size_min: float, step_size_max: float,
    etaminus: float, etaplus: float,
) -> None:  # fmt: skip
    """One step of `Rprop` on lists of tensors."""
