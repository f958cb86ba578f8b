"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

from ..backends.sparse import coo
from ..core.machine import Tensor, functions
from ..core.native import in_c
from ..core.values import Namespace, preserve_format
from .by_element import Elementwise, decay_of, decayed, decayed_tensor, number
from .fused import fused
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import check_fused, options
from .together import Together

__all__ = ["Adagrad", "adagrad"]


def _formula(xp: Namespace, p: Any, g: Any, square: Any, decay: Any, eps: Any, rate: Any) -> None:
    """Duchi, Hazan and Singer 2011."""
    g = decayed(p, g, decay)
    square += g * g
    p -= g / (xp.sqrt(square) + eps) * rate


class Adagrad(Elementwise):
    """Steps along the gradient, each element divided by the root of the sum of its squares."""

    formula = in_c("optim.adagrad", _formula)
    later: ClassVar[dict[str, Any]] = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        order = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        super().__init__(params, options(locals(), "lr lr_decay weight_decay initial_accumulator_value eps", order))
        check_fused(self, fused, foreach, differentiable)
        for group in self.param_groups:
            self.make_state(group, group["params"], [self.state[p] for p in group["params"]])

    def share_memory(self) -> None:
        """Make the state visible to other processes."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        return {"sum": float(group["initial_accumulator_value"])}

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        counts[0] += 1
        rate = number(group["lr"], group) / (1 + (counts[0] - 1) * group["lr_decay"])
        return decay_of(group), group["eps"], rate

    def update_by_sparse(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Only elements that have a gradient move, and their sums alone grow."""
        state["step"] += 1
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        rate = number(group["lr"], group) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        grad = grad.coalesce()
        indices, values = grad._indices(), grad._values()
        state["sum"].add_(coo(indices, values * values, p.shape, True))
        roots = state["sum"].sparse_mask(grad)._values().sqrt_().add_(group["eps"])
        p.add_(coo(indices, values / roots, p.shape, True), alpha=-rate)

    def _watched_array(self, p: Tensor, value: float) -> Tensor:
        return functions["full_like"](p, value, memory_format=preserve_format)

    def _watched(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate = number(group["lr"], group) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        g = decayed_tensor(p, grad, group)
        p.addcdiv_(g, state["sum"].addcmul_(g, g, value=1).sqrt().add_(group["eps"]), value=-rate)

    def _watched_lists(self, p: Together, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        g = decayed_tensor(p, grad, group)
        rate = number(group["lr"], group) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        root = state["sum"].addcmul_(g, g, value=1).sqrt().add_(group["eps"])
        p.addcdiv_(g.mul(-rate), root)


Adagrad._fused = staticmethod(fused(
    "adagrad", Adagrad, {"sum": "state_sums", "step": "state_steps"},
    "float lr, float lr_decay, float weight_decay, float eps, bool maximize",
))  # fmt: skip


@on_lists(Adagrad, state_sums="sum", state_steps="step")
def adagrad(
    params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor],
    fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
    has_complex: bool = False, *, lr: float | Tensor, weight_decay: float, lr_decay: float, eps: float,
    maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adagrad` on lists of tensors."""
