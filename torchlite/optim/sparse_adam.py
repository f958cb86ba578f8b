"""SparseAdam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..core.machine import Tensor
from .optimizer import Optimizer, ParamsT
from .options import check_lr, options

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients, of which there are none here: a step says so."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, options(locals(), "betas", "lr betas eps maximize"))
        complex_params = [
            [i, j] for i, g in enumerate(self.param_groups) for j, p in enumerate(g["params"]) if p.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuse gradients that are not sparse; without any, only call the closure."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if any(p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
