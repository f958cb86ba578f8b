"""Losses of classifiers: negative log likelihood and cross entropy."""

from __future__ import annotations

import math
from typing import Any

from ...core.declare import Op, publish_python
from ...core.machine import Made, Tensor
from ...core.values import Array, Namespace, dt, not_implemented_for
from ...kernels.extremes import largest_unsigned
from ...kernels.summing import widened
from ..formulas import tensors
from ..gradient_kernels import by_kernel
from ..pointwise.arithmetic import divide_by, multiply_by
from ..reductions.softmax import log_softmax
from .losses import MEAN, NONE, SUM

# ---- negative log likelihood: the input's element that a class names, for each place


def _class_dim(self: Any) -> int:
    return 1 if self.ndim > 1 else 0


def _places(xp: Namespace, self: Array, target: Array, ignore_index: int) -> tuple[Any, Any, Any]:
    """Where in the flattened input the wanted elements lie, their classes, and which are not ignored (None: all)."""
    classes = self.shape[1 if self.ndim > 1 else 0]
    target = target.astype(dt.int64.numpy, copy=False).reshape(-1)
    kept = None
    if (target.size and largest_unsigned(target) >= classes) or 0 <= ignore_index < classes:
        kept = target != ignore_index
        target = target * kept
        wrong = (target < 0) | (target >= classes)
        if wrong.any().item():
            raise IndexError(f"Target {target[wrong][0].item()} is out of bounds.")
    inner = math.prod(self.shape[2:])
    count = target.size
    if inner == 1 or not count:
        return xp.arange(0, count * classes, classes or 1) + target, target, kept
    outer = self.shape[0]
    first = xp.arange(0, outer * classes * inner, classes * inner).reshape((-1, 1)) + xp.arange(inner)
    return first.reshape(-1) + target * inner, target, kept


def _of_classes(weight: Any, classes: Any, kept: Any, d: Any) -> Any:
    """What each place counts for, where not all count the same."""
    if weight is None:
        return kept.astype(d)
    found = widened(weight)[classes]
    return found if kept is None else found * kept


def _nll(xp: Namespace, self: Array, target: Array, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, ...]:
    d, shape = self.dtype, target.shape
    wide = widened(self.reshape(-1))
    places, classes, kept = _places(xp, self, target, ignore_index)
    losses = -wide[places]
    counts = None
    if weight is not None or kept is not None:
        counts = _of_classes(weight, classes, kept, wide.dtype)
        losses *= counts
        if kept is not None:
            losses = xp.where(kept, losses, 0)
    if reduction == NONE:
        return losses.astype(d, copy=False).reshape(shape), xp.zeros((), d)
    total = places.size if counts is None else counts.sum()
    loss = xp.add.reduce(losses)
    if reduction == MEAN:
        loss = loss / total
    return xp.asarray(loss, d), xp.asarray(total, d)


def _nll_backward(
    xp: Namespace, g: Array, self: Array, target: Array, weight: Any, reduction: int, ignore_index: int,
    total_weight: Any,
) -> Array:  # fmt: skip
    made = xp.zeros(self.size, self.dtype)
    places, classes, kept = _places(xp, self, target, ignore_index)
    share = -g if g.ndim == 0 else -g.reshape(-1)
    if reduction == MEAN:
        share = share / total_weight
    if weight is not None or kept is not None:
        share = share * _of_classes(weight, classes, kept, self.dtype)
        if kept is not None:
            share = xp.where(kept, share, 0)
    made[places] = share
    return made.reshape(self.shape)


def _check_nll(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> None:
    shape, classes = self._array.shape, target._array.shape
    if len(classes) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not 0 < len(shape) <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if len(shape) > 1 and shape[0] != (classes[0] if classes else 1):
        raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(classes)})")
    _check_kinds(self, target, weight, "nll_loss_out_frame")


def _check_nll2d(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> None:
    if target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    if self.dim() != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.dim()}"
        )
    if (self.shape[0], *self.shape[2:]) != tuple(target.shape):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
    _check_kinds(self, target, weight, "nll_loss2d_forward_out_frame")


def _check_kinds(self: Tensor, target: Tensor, weight: Tensor | None, label: str) -> None:
    if self.dtype not in dt.FLOATS:
        raise not_implemented_for(label, self.dtype)
    if target.dtype not in (dt.int64, dt.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.legacy}")
    if weight is not None:
        classes = self.shape[_class_dim(self)]
        if tuple(weight.shape) != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
                f"of shape: {list(weight.shape)}"
            )
        if weight.dtype is not self.dtype:
            raise RuntimeError(f"expected scalar type {self.dtype.legacy} but found {weight.dtype.legacy}")


def _nll_in_steps(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Any:
    dim = _class_dim(self)
    kept = target != ignore_index
    index = tensors.where(kept, target, 0).long()
    losses = -self.gather(dim, index.unsqueeze(dim)).squeeze(dim)
    counts = _counts_in_steps(self, index, kept, weight)
    losses = tensors.where(kept, losses * counts, 0)
    if reduction == NONE:
        return losses, counts.new_zeros(())
    total = counts.sum()
    return (losses.sum() / total if reduction == MEAN else losses.sum()), total


def _counts_in_steps(self: Tensor, index: Tensor, kept: Tensor, weight: Tensor | None) -> Tensor:
    counts = kept.to(self.dtype)
    return counts if weight is None else counts * weight.take(index)


def _nll_backward_in_steps(
    g: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    total_weight: Tensor,
) -> Tensor:  # fmt: skip
    dim = _class_dim(self)
    kept = target != ignore_index
    index = tensors.where(kept, target, 0).long()
    share = -g / total_weight if reduction == MEAN else -g
    share = tensors.where(kept, share * _counts_in_steps(self, index, kept, weight), 0)
    return tensors.zeros_like(self).scatter(dim, index.unsqueeze(dim), share.unsqueeze(dim))


def _likelihood(name: str, node: str, check: Any) -> Op:
    back = Op(
        f"{name}_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
        "int ignore_index, Tensor total_weight)",
        _nll_backward,
        {
            "grad_output": lambda g, target, weight, reduction, ignore_index: (
                op.apply(g, target, weight, reduction, ignore_index)[0]
            ),
            "self": lambda g: g.new_zeros(g.shape), "target": None, "weight": None, "total_weight": None,
        },
        batch=_nll_backward_in_steps,
    )  # fmt: skip
    op = Op(
        f"{name}_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) "
        "-> (Tensor output, Tensor total_weight)",
        _nll,
        {"self": back, "target": None, "weight": None},
        check_form=check, node=node, batch=_nll_in_steps, differentiable=1, named=False,
        non_differentiable=("weight",), on_arrays=by_kernel,
    )  # fmt: skip
    return op


nll_loss_forward = _likelihood("nll_loss", "NllLossBackward0", _check_nll)
nll_loss2d_forward = _likelihood("nll_loss2d", "NllLoss2DBackward0", _check_nll2d)


def nll_loss_nd(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN, ignore_index: int = -100
) -> Tensor:  # fmt: skip
    """Minus the inputs of the target's classes, which lie along dimension 1 (or 0 of a vector)."""
    shape, classes = self._array.shape, target._array.shape
    ndim = len(shape)
    if ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {ndim})")
    batch = classes[0] if classes else 1
    if ndim != 1 and shape[0] != batch:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch}).")
    if ndim == 1 and len(classes) == 1 and batch != 1 and target.dtype in (dt.int64, dt.uint8):
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {batch}")
    if ndim <= 2:
        return nll_loss_forward.apply(self, target, weight, reduction, ignore_index)[0]
    if ndim == 4:
        return nll_loss2d_forward.apply(self, target, weight, reduction, ignore_index)[0]
    n, c, *rest = shape
    wanted = [n, *rest]
    if list(target.shape[1:]) != rest:
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    planes = self.contiguous().view((n, c, 1, -1)) if self.numel() else self.contiguous().view((n, c, 0, 0))
    targets = target.contiguous().view((n, 1, -1)) if target.numel() else target.contiguous().view((n, 0, 0))
    made = nll_loss2d_forward.apply(planes, targets, weight, reduction, ignore_index)[0]
    return made.view(wanted) if reduction == NONE else made


# ---- cross entropy


def _cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Tensor:
    """How unlikely the target's classes (or distributions over classes) are by the softmax of the input."""
    dim = _class_dim(self)
    if self._array.shape == target._array.shape:
        if not target.is_floating_point():
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.legacy}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        _check_smoothing(label_smoothing)
        return _of_probabilities(self, target, weight, reduction, label_smoothing, dim)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        return _smoothed(log_softmax.apply(self, dim, None), target, weight, reduction, ignore_index, label_smoothing)
    return nll_loss_nd(log_softmax.apply(self, dim, None), target, weight, reduction, ignore_index)


def cross_entropy_steps(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> list[Any] | None:
    """The ops that calls of this form come to, in turn, where the target has a class for each row."""
    if self.ndim > 2 or self._array.shape == target._array.shape or label_smoothing > 0:
        return None
    logarithms = log_softmax, (self, _class_dim(self), None)
    return [logarithms, (nll_loss_forward, (Made(0), target, weight, reduction, ignore_index), 0)]


cross_entropy_loss = publish_python(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, "
    "float label_smoothing=0.0)",
    _cross_entropy,
    function=False, method=False, comes_to=cross_entropy_steps,
)  # fmt: skip


def _check_smoothing(label_smoothing: float) -> None:
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _along_classes(weight: Tensor, like: Tensor, dim: int) -> Tensor:
    if tuple(weight.shape) != (like.shape[dim],):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {like.shape[dim]} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )
    return weight.view([-1 if d == dim else 1 for d in range(like.dim())])


def _of_probabilities(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float, dim: int
) -> Tensor:
    logs = log_softmax.apply(self, dim, None)
    classes = self.shape[dim] or 1
    if label_smoothing > 0:
        target = multiply_by.apply(target, 1 - label_smoothing) + label_smoothing / classes
    each = logs * target if weight is None else logs * target * _along_classes(weight, self, dim)
    if reduction == NONE:
        return -each.sum(dim)
    return divide_by.apply(-each.sum(), self.numel() // classes) if reduction == MEAN else -each.sum()


def _smoothed(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Tensor:
    dim = _class_dim(logs)
    sharp = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    weighted = logs if weight is None else logs * _along_classes(weight, logs, dim)
    flat = -weighted.sum(dim)
    ignored = target == ignore_index
    flat.masked_fill_(ignored, 0.0)
    if reduction == SUM:
        flat = flat.sum()
    elif reduction == MEAN:
        kept = ~ignored
        counts = kept if weight is None else weight.take(target.long() * kept) * kept
        count = counts.sum()
        flat = flat.sum() / count
    flat = multiply_by.apply(flat, label_smoothing / (logs.shape[dim] or 1))
    return multiply_by.apply(sharp, 1 - label_smoothing) + flat
