"""Losses: how far predictions are from what was to be predicted."""

from __future__ import annotations

import math
from typing import Any

from ..core import dtype as dt
from ..core.elementwise import Elementwise
from ..core.errors import not_implemented_for
from ..core.op import Op
from ..core.operands import result_type
from ..core.publish import publish
from ..core.tensor import Tensor
from .writing import widened

NONE, MEAN, SUM = range(3)  # how a loss is reduced


def _share(reduction: int, size: int) -> float:
    """What one element's loss counts for in the result."""
    return 1 / size if reduction == MEAN and size else 1


def _mse(xp: Any, self: Any, target: Any, reduction: int) -> Any:
    difference = xp.subtract(widened(self), widened(target))
    if reduction == NONE:
        return (difference * difference).astype(self.dtype, copy=False)
    flat = difference.reshape(-1)
    total = flat.dot(flat)
    return (total / flat.size if reduction == MEAN else total).astype(self.dtype)


def _mse_by_steps(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    difference = self - target
    squares = difference * difference
    return squares if reduction == NONE else squares.mean() if reduction == MEAN else squares.sum()


def _mse_gradient(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """How the loss of each element varies with it."""
    difference = self - target
    return difference * (2 * _share(reduction, difference.numel()))


mse_loss_backward = Elementwise(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)",
    lambda xp, grad_output, self, target, reduction: _scaled_difference(xp, grad_output, self, target, reduction),
    {
        "grad_output": lambda g, self, target, reduction: g * _mse_gradient(self, target, reduction),
        "self": lambda g, grad_output, result_shape, reduction: _of_each(g, grad_output, result_shape, reduction),
        "target": lambda g, grad_output, result_shape, reduction: -_of_each(g, grad_output, result_shape, reduction),
    },
    dtypes=dt.FLOATS, halves="wide", label="mse_backward_cpu_out",
    batch=lambda grad_output, self, target, reduction: grad_output * _mse_gradient(self, target, reduction),
)  # fmt: skip


def _scaled_difference(xp: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    difference = xp.subtract(self, target)
    factor = grad_output * grad_output.dtype.type(2 * _share(reduction, difference.size))
    return xp.multiply(difference, factor)


def _of_each(g: Tensor, grad_output: Tensor, shape: tuple[int, ...], reduction: int) -> Tensor:
    return g * grad_output * (2 * _share(reduction, math.prod(shape)))


def _check_mse(self: Tensor, target: Tensor, reduction: int) -> None:
    common = result_type(self, target)
    if common not in dt.FLOATS:
        raise not_implemented_for("mse_cpu", common)


def _mse_vjp(g: Tensor, one: Tensor, other: Tensor, reduction: int) -> Tensor:
    return mse_loss_backward.apply(g, one, other, reduction).to(one.dtype)


# The operands have one shape: `nn.functional.mse_loss` broadcasts them.
mse_loss = publish(
    Op(
        "mse_loss(Tensor self, Tensor target, int reduction=1)", _mse,
        {
            "self": lambda g, self, target, reduction: _mse_vjp(g, self, target, reduction),
            "target": lambda g, self, target, reduction: _mse_vjp(g, target, self, reduction),
        },
        check=_check_mse,
        promote=("self", "target"),
        batch=_mse_by_steps,
    ),
    forms="",
)  # fmt: skip
