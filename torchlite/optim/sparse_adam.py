"""SparseAdam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..backends.sparse import coo
from ..core.machine import Tensor, functions
from ..sparse._coo import at_places, put_at_places
from .optimizer import Optimizer, ParamsT
from .options import check_lr, options

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: only the elements that have one move, and their means alone are brought up to date."""

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, options(locals(), "betas", "lr betas eps maximize"))
        placed = [(i, j, p) for i, g in enumerate(self.param_groups) for j, p in enumerate(g["params"])]
        sparse_params = [[i, j] for i, j, p in placed if p.is_sparse]
        if sparse_params:
            raise ValueError(f"Sparse params at indices {sparse_params}: SparseAdam requires dense parameter tensors")
        complex_params = [[i, j] for i, j, p in placed if p.is_complex()]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the elements of parameters that have gradients."""
        loss = self._loss_of(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if not all(p.grad.is_sparse for p in params):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            states = [self.state[p] for p in params]
            for p, state in zip(params, states):
                if not state:
                    state.update(step=0, exp_avg=functions["zeros_like"](p), exp_avg_sq=functions["zeros_like"](p))
                state["step"] += 1
            beta1, beta2 = group["betas"]
            with no_grad():
                sparse_adam(
                    params, [p.grad for p in params], [s["exp_avg"] for s in states],
                    [s["exp_avg_sq"] for s in states], [s["step"] for s in states], eps=group["eps"], beta1=beta1,
                    beta2=beta2, lr=group["lr"], maximize=group.get("maximize", False),
                )  # fmt: skip
        return loss


def sparse_adam(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor], exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[int], *, eps: float, beta1: float, beta2: float, lr: float | Tensor, maximize: bool,
) -> None:  # fmt: skip
    """One step of `SparseAdam` on lists of tensors."""
    for p, grad, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        grad = (-grad if maximize else grad).coalesce()
        indices, values = grad._indices(), grad._values()
        if not values.numel():
            continue
        rate = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        numerator = _moved(mean, indices, values, 1 - beta1)
        denominator = _moved(square, indices, values.pow(2), 1 - beta2).sqrt_().add_(eps)
        p.add_(coo(indices, numerator.div_(denominator).mul_(-rate), p.shape, True))


def _moved(mean: Tensor, indices: Tensor, target: Tensor, new: float) -> Tensor:
    """Move a mean towards `target` where there are gradients; what it is there then."""
    there = at_places(mean, indices)
    there = there + (target - there).mul_(new)
    put_at_places(mean, indices, there)
    return there
