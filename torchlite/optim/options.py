"""The options that optimizers share: what they may be, in PyTorch's words, and the table of them that groups get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor


def options(given: dict[str, Any], checked: str, names: str) -> dict[str, Any]:
    """The options with these names, in this order, out of the arguments of an optimizer; first, some are checked."""
    for name in checked.split():
        _CHECKS.get(name, check_non_negative)(name, given[name])
    return {name: given[name] for name in names.split()}


def check_lr(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(message.format(lr))


def check_non_negative(name: str, value: Any) -> None:
    if not value >= 0.0:
        raise ValueError(f"Invalid {name} value: {value}")


def _check_betas(_: str, betas: Any) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def _check_rho(_: str, rho: Any) -> None:
    if not 0.0 <= rho <= 1.0:
        raise ValueError(f"Invalid rho value: {rho}")


def _check_etas(_: str, etas: Any) -> None:
    if not 0.0 < etas[0] < 1.0 < etas[1]:
        raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")


# All others must not be negative.
_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "lr": lambda _, lr: check_lr(lr), "eps": lambda _, eps: check_non_negative("epsilon", eps), "betas": _check_betas,
    "rho": _check_rho, "etas": _check_etas,
}  # fmt: skip


def check_fused(optimizer: Any, fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """What goes with `fused`, and that such a step undoes a gradient scaler's scaling itself."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        optimizer._step_supports_amp_scaling = True
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
