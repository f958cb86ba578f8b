"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..core.op import functions
from ..core.tensor import Tensor
from .checks import check_lr
from .line_search import strong_wolfe
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Quasi-Newton steps by what the last gradients say of the curvature (Nocedal 1980).

    `line_search_fn` is "strong_wolfe" or None. The closure, which `step` needs, is called several times a step.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # ---- all parameters as one vector

    def _gather_flat_grad(self) -> Tensor:
        """The gradients, one after the other; zero where there are none."""
        flat = []
        for p in self._params:
            grad = functions["zeros_like"](p) if p.grad is None else p.grad
            flat.append((functions["view_as_real"](grad) if grad.is_complex() else grad).reshape(-1))
        return functions["cat"](flat, 0)

    def _parts(self, vector: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """The parameters, each with its part of a vector."""
        start = 0
        for p in self._params:
            real = functions["view_as_real"](p) if p.is_complex() else p
            yield real, vector[start : start + real.numel()].view_as(real)
            start += real.numel()

    def _add_grad(self, step_size: Any, direction: Tensor) -> None:
        for p, part in self._parts(direction):
            p.add_(part, alpha=float(step_size))

    # ---- the step

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Go up to `max_iter` times along a direction of descent; the loss before the first."""
        group = self.param_groups[0]
        lr, tolerance_grad, tolerance_change = group["lr"], group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> tuple[Any, Tensor]:
            with enable_grad():
                loss = closure()
            return loss, self._gather_flat_grad()

        def move_and_evaluate(x: list[Tensor], t: Any, d: Tensor) -> tuple[float, Tensor]:
            self._add_grad(t, d)
            loss, grad = evaluate()
            for p, before in zip(self._params, x):
                p.copy_(before)
            return float(loss), grad

        original, grad = evaluate()
        loss, evals = float(original), 1
        state["func_evals"] += 1
        if grad.abs().max() <= tolerance_grad:
            return original

        d, t, scale = state.get("d"), state.get("t"), state.get("H_diag")
        history = [state.get(name) for name in ("old_dirs", "old_stps", "ro")]
        previous_grad, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        for n_iter in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d, history, scale = grad.neg(), [[], [], []], 1
            else:
                y, s = grad.sub(previous_grad), d.mul(t)
                ys = y.dot(s)
                if ys > 1e-10:
                    if len(history[0]) == group["history_size"]:
                        for kept in history:
                            kept.pop(0)
                    for kept, new in zip(history, (y, s, 1.0 / ys)):
                        kept.append(new)
                    scale = ys / y.dot(y)
                state["al"] = state.get("al") or [None] * group["history_size"]
                d = _direction(grad, history, scale, state["al"])
            previous_grad, previous_loss = grad.clone(), loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            searched = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                x = [p.clone() for p in self._params]
                loss, grad, t, searched = strong_wolfe(
                    lambda t, x=x, d=d: move_and_evaluate(x, t, d), t, d, loss, grad, slope, group["max_eval"] - evals
                )
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if n_iter != group["max_iter"]:  # after the last one nobody would look at it
                    found, grad = evaluate()
                    loss, searched = float(found), 1
            evals += searched
            state["func_evals"] += searched
            if (
                evals >= group["max_eval"]
                or grad.abs().max() <= tolerance_grad
                or d.mul(t).abs().max() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break
        state.update(d=d, t=t, old_dirs=history[0], old_stps=history[1], ro=history[2], H_diag=scale)
        state.update(prev_flat_grad=previous_grad, prev_loss=previous_loss)
        return original


def _direction(grad: Tensor, history: list[list[Tensor]], scale: Any, factors: list[Any]) -> Tensor:
    """Minus the gradient, multiplied by what the history says of the inverse Hessian."""
    count = len(history[0])
    q = grad.neg()
    for i in reversed(range(count)):
        y, s, rho = [kept[i] for kept in history]
        factors[i] = s.dot(q) * rho
        q.add_(y * -factors[i])
    q = q.mul(scale)
    for i in range(count):
        y, s, rho = [kept[i] for kept in history]
        q.add_(s * (factors[i] - y.dot(q) * rho))
    return q
