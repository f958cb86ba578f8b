"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..core.machine import Tensor, functions
from ..core.native import in_c
from ..core.values import Namespace
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .fused import fused
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import check_fused, options
from .together import Together

__all__ = ["SGD", "sgd"]


def _formula(xp: Namespace, p: Any, g: Any, *more: Any) -> None:
    """`velocity` is a state array where there is momentum."""
    *velocity, rate, decay, momentum, new, nesterov = more
    g = decayed(p, g, decay)
    for v in velocity:
        v *= momentum
        v += g if new is None else g * new
        g = g + v * momentum if nesterov else v
    p -= g * rate


class SGD(Elementwise):
    """Steps along the gradient, with momentum if asked for."""

    formula = in_c("optim.sgd", _formula)
    twice = ("momentum_buffer",)
    later: ClassVar[dict[str, Any]] = {
        "nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False,
    }  # fmt: skip

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        order = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        defaults = options(locals(), "lr momentum weight_decay", order)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(self, fused, foreach, differentiable)

    def counts(self, group: dict[str, Any]) -> dict[str, float]:
        return {}

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def writes(self, group: dict[str, Any], new: bool) -> dict[str, int]:
        return {"momentum_buffer": 0} if new and not group["fused"] else super().writes(group, new)  # a copy at first

    def lacks_state(self, state: dict[str, Any]) -> bool:
        return state.get("momentum_buffer") is None

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        dampening = 0 if new else group["dampening"]  # the first gradient is taken as it is
        kept = 1 - number(dampening, group)
        return (
            number(group["lr"], group),
            decay_of(group),
            number(group["momentum"], group),
            None if kept == 1 else kept,
            group["nesterov"],
        )

    def _make_watched_state(
        self, group: dict[str, Any], params: Sequence[Tensor], states: Sequence[dict[str, Any]]
    ) -> None:
        """The momentum begins as a copy of the first gradient."""

    def _fused(
        self, params: Sequence[Tensor], grads: Sequence[Tensor], states: Sequence[dict[str, Any]], group: dict[str, Any]
    ) -> None:
        """The first step makes the momentum anew."""
        first = bool(group["momentum"]) and all(map(self.lacks_state, states))
        if first:
            for grad, state in zip(grads, states, strict=True):
                state["momentum_buffer"] = functions["empty_like"](grad)
        _step(params, grads, states, {**group, "is_first_step": first})

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._follow_momentum(p, decayed_tensor(p, grad, group), state, group)

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        g, momentum = decayed_tensor(p, grad, group), group["momentum"]
        if momentum:
            if self.lacks_state(state):  # a parameter does
                states = [self.state[t] for t in p.tensors]
                velocity = Together([self._velocity(one, s, group) for one, s in zip(g.tensors, states, strict=True)])
            else:
                velocity = state["momentum_buffer"].mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g.add_(velocity, alpha=momentum) if group["nesterov"] else velocity
        p.add_(g, alpha=-number(group["lr"], group))

    def update_by_sparse(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """The momentum is that of the elements that have had gradients, and is sparse too."""
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]  # which there is not
        self._follow_momentum(p, grad, state, group)

    def _follow_momentum(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        if momentum:
            velocity = self._velocity(grad, state, group)
            grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
        p.add_(grad, alpha=-number(group["lr"], group))

    def _velocity(self, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        """The momentum, which begins as a copy of the first gradient."""
        if self.lacks_state(state):
            state["momentum_buffer"] = grad.detach().clone()
            return state["momentum_buffer"]
        return state["momentum_buffer"].mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])


_step = fused(
    "sgd", SGD, {"momentum_buffer": "momentum_buffer_list"},
    "float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step",
)  # fmt: skip


@on_lists(SGD, momentum_buffer_list="momentum_buffer")
def sgd(
    params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float, momentum: float,
    lr: float | Tensor, dampening: float, nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of `SGD` on lists of tensors."""
