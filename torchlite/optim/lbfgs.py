"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..core.machine import Tensor, functions
from ..core.values import contiguous_format
from .line_search import _cubic_interpolate as _cubic_interpolate
from .line_search import _strong_wolfe
from .optimizer import Optimizer, ParamsT
from .options import options

__all__ = ["LBFGS"]


# What one step leaves to the next.
_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Quasi-Newton steps by what the last gradients say of the curvature (Nocedal 1980).

    `line_search_fn` is "strong_wolfe" or None. The closure, which `step` needs, is called several times a step.
    """

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        order = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        super().__init__(params, options(locals(), "lr", order))
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
            p.add_(part, alpha=step_size)

    def _clone_param(self) -> list[Tensor]:
        return [p.clone() for p in self._params]

    def _set_param(self, params_data: list[Tensor]) -> None:
        for p, data in zip(self._params, params_data, strict=True):
            p.copy_(data)

    # ---- the loss

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, float, Tensor]:
        """The loss, as a number too, and its gradient."""
        with enable_grad():
            loss = closure()
        return loss, float(loss), self._gather_flat_grad()

    def _directional_evaluate(
        self, closure: Callable[[], Any], x: list[Tensor], t: Any, d: Tensor
    ) -> tuple[float, Tensor]:
        """The loss and its gradient at a step from `x`, where the parameters are before and after."""
        self._add_grad(t, d)
        _, loss, grad = self._evaluate(closure)
        self._set_param(x)
        return loss, grad

    # ---- the step

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Go up to `max_iter` times along a direction of descent; the loss before the first."""
        group = self.param_groups[0]
        lr, tolerance_grad, tolerance_change = group["lr"], group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        original, loss, grad = self._evaluate(closure)
        evals = 1
        state["func_evals"] += 1
        if grad.abs().max() <= tolerance_grad:
            return original

        kept = {name: state.get(name) for name in _KEPT}
        for n_iter in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = _next_direction(state, kept, grad, group["history_size"])
            before = kept["prev_flat_grad"]
            before = grad.clone(memory_format=contiguous_format) if before is None else before.copy_(grad)
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            kept.update(d=d, t=t, prev_flat_grad=before, prev_loss=loss)
            slope = grad.dot(d)
            if slope > -tolerance_change:
                break
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                along = partial(self._directional_evaluate, closure)
                loss, grad, t, searched = _strong_wolfe(
                    along, self._clone_param(), t, d, loss, grad, slope, max_ls=group["max_eval"] - evals
                )
                kept["t"] = t
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if n_iter == group["max_iter"]:  # nobody would look at the gradient
                    break
                _, loss, grad = self._evaluate(closure)
                searched = 1
            evals += searched
            state["func_evals"] += searched
            arrived = grad.abs().max() <= tolerance_grad
            if (
                n_iter == group["max_iter"]
                or evals >= group["max_eval"]
                or arrived
                or d.mul(t).abs().max() <= tolerance_change
                or abs(loss - kept["prev_loss"]) < tolerance_change
            ):
                break
        state.update(kept)
        return original


def _next_direction(state: dict[str, Any], kept: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
    """Where to go next; what the last step showed of the curvature is added to the history."""
    if state["n_iter"] == 1:
        kept.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return grad.neg()
    history = [kept["old_dirs"], kept["old_stps"], kept["ro"]]
    y, s = grad.sub(kept["prev_flat_grad"]), kept["d"].mul(kept["t"])
    ys = y.dot(s)
    if ys > 1e-10:
        if len(history[0]) == history_size:
            for entries in history:
                entries.pop(0)
        for entries, new in zip(history, (y, s, 1.0 / ys)):
            entries.append(new)
        kept["H_diag"] = ys / y.dot(y)
    state["al"] = state.get("al") or [None] * history_size
    return _direction(grad, history, kept["H_diag"], state["al"])


def _direction(grad: Tensor, history: list[list[Tensor]], scale: Any, factors: list[Any]) -> Tensor:
    """Minus the gradient, multiplied by what the history says of the inverse Hessian."""
    count = len(history[0])
    q = grad.neg()
    for i in reversed(range(count)):
        y, s, rho = [kept[i] for kept in history]
        factors[i] = s.dot(q) * rho
        q.add_(y, alpha=-factors[i])
    q = q.mul(scale)
    for i in range(count):
        y, s, rho = [kept[i] for kept in history]
        q.add_(s, alpha=factors[i] - y.dot(q) * rho)
    return q
