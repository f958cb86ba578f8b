"""Algorithms that look at a parameter as a whole: as a matrix, or at its norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import strided
from .optimizer import Optimizer


class OnTensors(Optimizer):
    """The base of algorithms that update each parameter by itself."""

    def begin(self, p: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        """Make the state of a parameter that has none."""
        raise NotImplementedError

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter."""
        raise NotImplementedError

    def check(self, p: Tensor, group: dict[str, Any]) -> None:
        """Refuse a parameter, its gradient, or options, before any is changed."""
        if p.grad is not None and p.grad.layout is not strided:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        if p.is_complex():
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; `closure`, if given, computes these anew and returns the loss."""
        loss = self._loss_of(closure)
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                for p in params:
                    self.check(p, group)
                for p in params:
                    if not self.state[p]:
                        self.begin(p, p.grad, self.state[p])
                for p in params:
                    self.update(p, p.grad, self.state[p], group)
        return loss
