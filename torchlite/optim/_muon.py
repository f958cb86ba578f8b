"""Muon."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, functions
from ..core.values import bfloat16, preserve_format
from .by_tensor import OnTensors
from .on_lists import on_lists
from .optimizer import ParamsT
from .options import check_lr, options

__all__ = ["Muon"]


def _orthogonal(grad: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Roughly the orthogonal matrix nearest to `grad`, by Newton and Schulz's iteration in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    addmm = functions["addmm"]
    x = grad.to(bfloat16)
    tall = grad.size(0) > grad.size(1)
    if tall:
        x = x.T
    x = x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjusted(lr: float, how: str | None, shape: Any) -> float:
    """The learning rate for a matrix of this shape."""
    rows, columns = shape[:2]
    if how is None or how == "original":
        return lr * max(1, rows / columns) ** 0.5
    if how == "match_rms_adamw":
        return lr * 0.2 * max(rows, columns) ** 0.5
    return lr


class Muon(OnTensors):
    """Momentum, made orthogonal; for the matrices of hidden layers (Jordan 2024).

    `adjust_lr_fn` is None, "original" or "match_rms_adamw".
    """

    def __init__(
        self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
        nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        order = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, options(locals(), "", order))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def begin(self, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        state["momentum_buffer"] = functions["zeros_like"](grad, memory_format=preserve_format)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        velocity, lr = state["momentum_buffer"], float(group["lr"])
        velocity.lerp_(grad, 1 - group["momentum"])
        change = grad.lerp(velocity, group["momentum"]) if group["nesterov"] else velocity
        change = _orthogonal(change, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(change, alpha=-_adjusted(lr, group["adjust_lr_fn"], p.shape))


@on_lists(Muon, muon_momentum_bufs="momentum_buffer")
def muon(
    params: list[Tensor], grads: list[Tensor], muon_momentum_bufs: list[Tensor], *, foreach: bool | None = None,
    lr: float | Tensor, weight_decay: float, momentum: float, nesterov: bool,
    ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float, adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:  # fmt: skip
    """One step of `Muon` on lists of tensors."""
