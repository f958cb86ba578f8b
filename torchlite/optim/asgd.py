"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..core.machine import Tensor, functions
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import options
from .together import Together

__all__ = ["ASGD", "asgd"]


def _formula(xp: Namespace, p: Any, g: Any, average: Any, decay: Any, shrink: Any, rate: Any, mu: Any) -> None:
    """Polyak and Juditsky 1992; without `mu`, averaging has not begun."""
    g = decayed(p, g, decay)
    p *= shrink
    p -= g * rate
    if mu is None:
        average[...] = p
    else:
        average += (p - average) * mu


class ASGD(Elementwise):
    """Gradient descent with fading steps; the mean of the parameters over time is kept in the state as `ax`."""

    formula = _formula
    kept: ClassVar = {"ax": 0.0}
    together = "params, mus, etas, and state_steps"
    filled = True

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        order = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), "lr weight_decay", order))

    def counts(self, group: dict[str, Any]) -> dict[str, float]:
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}

    def writes(self, group: dict[str, Any], new: bool) -> dict[str, int]:
        return {} if group["foreach"] else {"params": 2}

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        step, eta, mu = counts
        step += 1
        lr, lambd = number(group["lr"], group), group["lambd"]
        faded = lr / (1 + lambd * lr * step) ** group["alpha"]
        if step.__class__ is not float:  # but is counted on a device, which is not asked for it
            counts[:] = step, faded, 1 / np.maximum(step - group["t0"], 1)
            return decay_of(group), 1 - lambd * eta, eta, mu
        counts[:] = step, float(faded), 1 / max(1, step - group["t0"])
        return decay_of(group), 1 - lambd * eta, eta, None if mu == 1 else mu

    def _watched_count(self, value: float) -> Tensor:
        made = super()._watched_count(value)
        return made if value in (0, 1) else made.clone().detach()

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        g = decayed_tensor(p, grad, group)
        eta = state["eta"].item()
        p.mul_(1 - group["lambd"] * eta).add_(g, alpha=-eta)
        average, mu = state["ax"], state["mu"].item()
        average.copy_(p) if mu == 1 else average.add_(p.sub(average).mul_(state["mu"]))
        counts = [state["step"].item() - 1, eta, mu]
        self.numbers(group, counts, False)
        for name, value in zip(("eta", "mu"), counts[1:]):
            state[name].copy_(functions["as_tensor"](value))

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, lambd, steps = number(group["lr"], group), group["lambd"], state["step"].tensors
        p.addcmul_(decayed_tensor(p, grad, group).add(p, alpha=lambd), state["eta"], value=-1)
        state["ax"].addcmul_(p.sub(state["ax"]), state["mu"])
        etas = [lr / (1 + lambd * lr * step) ** group["alpha"] for step in steps]
        mus = [functions["tensor"](1 / max(1, step.item() - group["t0"])) for step in steps]
        state["eta"].copy_(Together(etas))
        state["mu"].copy_(Together(mus))


@on_lists(ASGD, axs="ax", mus="mu", etas="eta", state_steps="step")
def asgd(
    params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor], etas: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    capturable: bool = False, has_complex: bool = False, *, lambd: float, lr: float | Tensor, t0: float, alpha: float,
    weight_decay: float,
) -> None:  # fmt: skip
    """One step of `ASGD` on lists of tensors."""
