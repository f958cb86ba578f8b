"""Adafactor."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import finfo, preserve_format
from .by_tensor import OnTensors
from .flat_arrays import scalar_dtype
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import check_lr, options

__all__ = ["Adafactor", "adafactor"]


class Adafactor(OnTensors):
    """Adam without a mean gradient, and with the mean squares of a matrix as those of rows and columns.

    Shazeer and Stern 2018. Steps are as large as the parameters are.
    """

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
        foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, options(locals(), "", "lr beta2_decay eps d weight_decay foreach maximize"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
        for kept in self.state.values():
            if "step" in kept and not isinstance(kept["step"], Tensor):
                kept["step"] = functions["tensor"](float(kept["step"]), dtype=scalar_dtype())

    def begin(self, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        state["step"] = functions["tensor"](0.0, dtype=scalar_dtype())
        if p.dim() > 1:
            state["row_var"] = grad.new_zeros((*p.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*p.shape[:-2], 1, p.shape[-1]))
        else:
            state["variance"] = functions["zeros_like"](grad, memory_format=preserve_format)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = finfo(p.dtype).eps
        lr = float(group["lr"])
        if group["maximize"]:
            grad = -grad
        state["step"] += 1
        step = state["step"].item()
        new = step ** group["beta2_decay"]
        root = p.numel() ** 0.5
        rate = max(eps2, p.norm(2).item() / root) * min(lr, 1 / step**0.5)
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if p.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), new)
            columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), new)
            square = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            square = state["variance"].lerp_(grad * grad, new).clone()
        change = square.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        rate /= max(1.0, change.norm(2).item() / (root * group["d"]))
        p.add_(change, alpha=-rate)


@on_lists(Adafactor, row_vars="row_var", col_vars="col_var", variances="variance", state_steps="step")
def adafactor(
    params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None], col_vars: list[Tensor | None],
    variances: list[Tensor | None], state_steps: list[Tensor], foreach: bool | None = None,
    grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False, *, d: float,
    lr: float | Tensor, beta2_decay: float, weight_decay: float, eps1: float, eps2: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of `Adafactor` on lists of tensors."""
