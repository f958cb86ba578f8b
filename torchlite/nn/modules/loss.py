"""Losses as modules. What they have in common is a `reduction`: "mean", "sum", or "none"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import InitVar
from typing import Any

from typing_extensions import deprecated

from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from .. import _reduction
from .. import functional as F
from .distance import PairwiseDistance
from .fields import fields, made
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


@fields(constants="", repr=False)
class _Loss(Module):
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"

    def complete(self, size_average: bool | None, reduce: bool | None) -> None:
        if size_average is not None or reduce is not None:
            self.reduction = _reduction.legacy_get_string(size_average, reduce)


@fields(header="weight size_average reduce reduction", constants="")
class _WeightedLoss(_Loss):
    weight: InitVar[Tensor | None] = None

    def complete(self, weight: Tensor | None) -> None:
        self.register_buffer("weight", weight)


# ---- differences


@fields
class L1Loss(_Loss):
    """The absolute differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


@fields
class MSELoss(_Loss):
    """The squared differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


@fields(constants="reduction")
class SmoothL1Loss(_Loss):
    """Half the squared difference over `beta` where it is less than that, beyond the absolute one less `beta / 2`."""

    beta: float = 1.0

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


@fields(header="reduction delta")
class HuberLoss(_Loss):
    """Half the squared difference where it is at most `delta`, beyond that a line."""

    delta: float = 1.0

    def complete(self) -> None:
        if not isinstance(self.delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


# ---- probabilities


@fields
class BCELoss(_WeightedLoss):
    """How unlikely the target is, where `input` is the probability of 1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


@fields(header="weight size_average reduce reduction pos_weight", constants="")
class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of `input`."""

    weight: InitVar[Tensor | None] = None
    pos_weight: InitVar[Tensor | None] = None

    def complete(self, weight: Tensor | None, pos_weight: Tensor | None) -> None:
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


@fields(constants="reduction")
class KLDivLoss(_Loss):
    """The divergence of the target from the distribution whose logarithm is `input`."""

    log_target: bool = False

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


@fields(header="log_input full size_average eps reduce reduction")
class PoissonNLLLoss(_Loss):
    """How unlikely counts are whose mean, or its logarithm, is the input."""

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


@fields(header="* full eps reduction")
class GaussianNLLLoss(_Loss):
    """How unlikely values are that are normally distributed around the input."""

    full: bool = False
    eps: float = 1e-6

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# ---- classes


@fields(header="weight size_average ignore_index reduce reduction")
class NLLLoss(_WeightedLoss):
    """Minus the inputs (logarithms of probabilities) of the target's classes."""

    ignore_index: int = -100

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


@deprecated(
    "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
    "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
    category=FutureWarning,
)
class NLLLoss2d(NLLLoss):
    """The former name of `NLLLoss` for images."""


@fields(header="weight size_average ignore_index reduce reduction label_smoothing")
class CrossEntropyLoss(_WeightedLoss):
    """How unlikely the target's classes are by the softmax of the input."""

    ignore_index: int = -100
    label_smoothing: float = 0.0

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


@fields(
    header="in_features num_classes * out_features bias device dtype reduction weight ignore_index label_smoothing "
    "options",
    constants="num_classes out_features reduction ignore_index label_smoothing",
)
class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a linear map to (num_classes, *out_features), which belongs to the loss."""

    in_features: InitVar[int]  # type: ignore[misc]  # the header says in which order they come
    num_classes: int  # type: ignore[misc]
    out_features: tuple[int, ...] = ()
    bias: InitVar[bool] = False
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    ignore_index: int | None = None
    label_smoothing: float = 0.0
    options: Any = None
    linear: Linear = made()

    def complete(self, in_features: int, bias: bool, device: DeviceLike, dtype: Any) -> None:
        if self.weight is not None and self.weight.shape != (self.num_classes,):
            raise RuntimeError(f"expected weight shape to be ({self.num_classes},), got {tuple(self.weight.shape)}")
        if self.label_smoothing < 0 or self.label_smoothing > 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {self.label_smoothing}")
        out_features = self.num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, out_features, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weight, bias = self.linear.weight, self.linear.bias
        if self.out_features:
            shape = (self.num_classes, *self.out_features)
            weight = weight.unflatten(0, shape)
            bias = None if bias is None else bias.unflatten(0, shape)
        return F.linear_cross_entropy(
            input, weight, target, linear_bias=bias, weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


@fields(header="p margin weight size_average reduce reduction")
class MultiMarginLoss(_WeightedLoss):
    """How far other classes come nearer to the wanted one than the margin."""

    p: int = 1
    margin: float = 1.0

    def complete(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        weight = self.weight
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


@fields
class MultiLabelMarginLoss(_Loss):
    """How far other classes come nearer than 1 to those that the target lists."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


@fields
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """How unlikely each class is to be there or not, as the target says."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


@fields(header="blank reduction zero_infinity", constants="blank reduction")
class CTCLoss(_Loss):
    """Minus the logarithm of the likelihood of label sequences whose places in time are not known."""

    blank: int = 0
    zero_infinity: bool = False

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# ---- pairs and triples


@fields
class SoftMarginLoss(_Loss):
    """`log(1 + exp(-target * input))`, for targets of 1 and -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@fields(header="margin size_average reduce reduction")
class _MarginLoss(_Loss):
    margin: float = 0.0


@fields
class HingeEmbeddingLoss(_MarginLoss):
    """The input where the target is 1, and how far it is below the margin where that is -1."""

    margin: float = 1.0

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """One less the cosine where the target is 1, and what it has above the margin where that is -1."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """How much `input1` lacks to be above `input2` by the margin, or below it where the target is -1."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


def _check_margin(name: str, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")


@fields(header="margin p eps swap size_average reduce reduction")
class TripletMarginLoss(_Loss):
    """How much nearer than the margin the negative is to the anchor than the positive."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False

    def complete(self) -> None:
        _check_margin("TripletMarginLoss", self.margin)

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


@fields(header="* distance_function margin swap reduction", constants="margin swap reduction")
class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` by a distance of one's own."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False

    def complete(self) -> None:
        _check_margin("TripletMarginWithDistanceLoss", self.margin)
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
