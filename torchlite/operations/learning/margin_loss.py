"""Losses of classifiers that want the wanted class ahead of the others by a margin."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, publish
from ...core.machine import NOT_IMPLEMENTED, Tensor
from ...core.values import Array, Namespace, dt, not_implemented_for
from ..gradient_kernels import by_kernel
from ..vocabulary import undifferentiable
from .losses import MEAN, NONE, SUM

_UNKNOWN = undifferentiable("")  # as gradients of gradients are, of which nodes tell that they are not implemented

# ---- margins between the wanted class and the others


def _check_multi_margin(self: Tensor, target: Tensor, p: Any, margin: Any, weight: Tensor | None, _: int) -> None:
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if self.dim() > 2 or (self.dim() and not self.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    rows, classes = (self.shape[0] if self.dim() > 1 else 1), (self.shape[-1] if self.dim() else 1)
    if target.dim() > 1 or target.numel() != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and (weight.dim() > 1 or weight.numel() != classes):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if self.dtype not in dt.FLOATS or self.dtype in dt.HALVES:
        raise not_implemented_for("multi_margin_loss_cpu_kernel", self.dtype)
    _check_classes(target)
    backend = self._backend.real
    if backend.values and not backend.level and bool(((target._array < 0) | (target._array >= classes)).any()):
        raise RuntimeError("target out of range")


def _check_classes(target: Tensor) -> None:
    if target.dtype is not dt.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")


def _margins(xp: Namespace, self: Array, target: Array, margin: Any, weight: Any) -> tuple[Any, Any, Any]:
    """How far each class comes too near to the wanted one, what powers of that count for, and where that one is.

    What is no number is no overlap.
    """
    rows = self.reshape((-1, self.shape[-1] if self.ndim else 1))
    at = xp.arange(len(rows)), target.reshape(-1)
    overlaps = xp.fmax(rows - rows[at].reshape((-1, 1)) + rows.dtype.type(margin), 0)
    overlaps[at] = 0
    scale = rows.dtype.type(1 / rows.shape[1])
    return overlaps, scale if weight is None else weight.reshape(-1)[at[1]].reshape((-1, 1)) * scale, at


def _multi_margin(xp: Namespace, self: Array, target: Array, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    overlaps, counts, _ = _margins(xp, self, target, margin, weight)
    each = ((overlaps if p == 1 else overlaps * overlaps) * counts).sum(1)
    if reduction == NONE:
        return each.reshape(target.shape)
    return each.sum() if reduction == SUM else each.sum() / each.dtype.type(each.size or math.nan)


def _multi_margin_backward(
    xp: Namespace, g: Array, self: Array, target: Array, p: Any, margin: Any, weight: Any, reduction: int
) -> Array:  # fmt: skip
    overlaps, counts, at = _margins(xp, self, target, margin, weight)
    made = (overlaps > 0).astype(self.dtype) if p == 1 else overlaps * 2
    made *= counts
    made *= g.reshape((-1, 1)) / self.dtype.type(len(made) if reduction == MEAN else 1)
    made[at] = -made.sum(1)
    return xp.ascontiguousarray(made).reshape(self.shape)


_MULTI_MARGIN = "Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1"
multi_margin_loss_backward = Op(
    f"multi_margin_loss_backward(Tensor grad_output, {_MULTI_MARGIN.replace('=1,', ',')})", _multi_margin_backward,
    {"grad_output": _UNKNOWN, "self": _UNKNOWN, "target": None, "weight": None},
    node=NOT_IMPLEMENTED,
)  # fmt: skip
multi_margin_loss_ = Op(
    f"multi_margin_loss({_MULTI_MARGIN})",
    _multi_margin,
    {"self": multi_margin_loss_backward, "target": None, "weight": None},
    check=_check_multi_margin, non_differentiable=("weight",), on_arrays=by_kernel,
)  # fmt: skip
multi_margin_loss = publish(multi_margin_loss_, function=False, method=False)


# ---- margins between wanted classes and the others: a row of a target names those, up to the first -1


def _check_multilabel(self: Tensor, target: Tensor, reduction: int) -> None:
    if self.dim() > 2 or (self.dim() and not self.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if self.numel() != target.numel() or (self.dim() == 2 and target.shape != self.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if self.dtype not in dt.FLOATS or self.dtype in dt.HALVES:
        raise not_implemented_for("multilabel_margin_loss_forward_out_frame", self.dtype)
    _check_classes(target)
    backend = self._backend.real
    classes = self.shape[-1] if self.dim() else 1
    if backend.values and not backend.level and bool(((target._array < -1) | (target._array >= classes)).any()):
        raise RuntimeError("argument #2 'target' is out of range")


def _pairs(xp: Namespace, self: Array, target: Array) -> tuple[Any, Any, Any]:
    """Overlaps by row, place in the target and class; whether they count; and the classes wanted."""
    rows = self.reshape((-1, self.shape[-1] if self.ndim else 1))
    named = target.reshape(rows.shape)
    listed = xp.cumsum(named < 0, 1) == 0
    named = named * listed
    wanted = xp.zeros(rows.shape, bool)
    at = xp.broadcast_to(xp.arange(len(rows)).reshape((-1, 1)), rows.shape)
    wanted[at[listed], named[listed]] = True
    overlaps = 1 - rows[at, named][:, :, None] + rows[:, None, :]
    overlaps *= listed[:, :, None] & ~wanted[:, None, :]
    return xp.fmax(overlaps, 0), named, wanted


def _multilabel(xp: Namespace, self: Array, target: Array, reduction: int) -> tuple[Any, ...]:
    overlaps, _, wanted = _pairs(xp, self, target)
    each = overlaps.sum((1, 2)) / self.dtype.type(overlaps.shape[1])
    wanted = wanted.astype(self.dtype).reshape(target.shape)
    if reduction == NONE:
        return each.reshape(self.shape[:-1]), wanted
    total = each.sum() if reduction == SUM else each.sum() / each.dtype.type(each.size or math.nan)
    return xp.asarray(total), wanted


def _multilabel_backward(xp: Namespace, g: Array, self: Array, target: Array, reduction: int, is_target: Any) -> Array:
    overlaps, named, _ = _pairs(xp, self, target)
    share = g.reshape((-1, 1)) / self.dtype.type(overlaps.shape[1] * (len(overlaps) if reduction == MEAN else 1))
    active = (overlaps > 0).astype(self.dtype)
    made = active.sum(1)
    at = xp.arange(len(made))
    back = active.sum(2)
    for place in range(made.shape[1]):  # a class may be named more than once
        made[at, named[:, place]] -= back[:, place]
    return xp.ascontiguousarray(made * share).reshape(self.shape)


multilabel_margin_loss_backward = Op(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target)",
    _multilabel_backward,
    {"grad_output": _UNKNOWN, "self": _UNKNOWN, "target": None, "is_target": None},
    node=NOT_IMPLEMENTED,
)  # fmt: skip
multilabel_margin_loss_forward = Op(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    _multilabel,
    {"self": multilabel_margin_loss_backward, "target": None},
    check=_check_multilabel, node="MultilabelMarginLossBackward0", named=False, differentiable=1,
    on_arrays=by_kernel,
)  # fmt: skip


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """How far unwanted classes come nearer than 1 to those that `target` lists."""
    return multilabel_margin_loss_forward.apply(self, target, reduction)[0]
