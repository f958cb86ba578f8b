"""Losses. A `reduction` is "mean", "sum", or "none" for one number for each element."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.declare import Signature
from ...core.machine import Tensor, TensorBase, dispatch, functions, needs_dispatch, overridable, planned, public
from ...core.native import named
from ...core.values import int64, warn
from ...operations.learning import class_loss, margin_loss
from ...operations.learning import losses as loss
from ...operations.pointwise.activations import log_sigmoid
from ...operations.products.linear import linear
from .. import _reduction
from ..headers import binder

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "linear_cross_entropy",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip

_broadcast_tensors = functions["broadcast_tensors"]


def _number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number that ops know a reduction by, asked for by name or as it once was."""
    if size_average is not None or reduce is not None:
        return _reduction.legacy_get_enum(size_average, reduce)
    return _reduction.get_enum(reduction)


def reduced(declared: Any = None, *, before: str = "reduction", comes_to: Callable[..., Any] | None = None) -> Any:
    """A loss that is told its reduction as the number that ops know, and may be asked for it as it once was.

    Its `reduction` is a string for those who call it. Before that, `reduce` is a parameter, and `size_average`, before
    that or the one that `before` names. `comes_to` gives, of its arguments, the steps of all calls of their form.
    """
    if declared is None:
        return functools.partial(reduced, before=before, comes_to=comes_to)
    parameters = list(inspect.signature(declared).parameters.values())
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    once = [inspect.Parameter(n, kind, default=None, annotation="bool | None") for n in ("size_average", "reduce")]
    names = [p.name for p in parameters]
    at, last = names.index(before), names.index("reduction")
    string = parameters[last].replace(default="mean", annotation="str")
    header = [*parameters[:at], once[0], *parameters[at:last], once[1], string, *parameters[last + 1 :]]
    numbers = _reduction.NUMBERS
    bind = functools.cache(functools.partial(binder, declared.__qualname__, header))

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        named: dict[str, Any] = bind()(*args, **kwargs)
        named["reduction"] = _number(named["reduction"], named.pop("size_average"), named.pop("reduce"))
        return named

    def as_once(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return len(args) > at or "size_average" in kwargs or "reduce" in kwargs

    @functools.wraps(declared)
    def call(*args: Any, **kwargs: Any) -> Any:
        if needs_dispatch(args, kwargs):
            return dispatch(call, args, kwargs)
        if as_once(args, kwargs):
            return declared(**bound(args, kwargs))
        name = kwargs.get("reduction", "mean")
        kwargs["reduction"] = numbers[name] if name in numbers else _reduction.get_enum(name)
        return declared(*args, **kwargs)

    made: Any = call
    if comes_to is not None:
        made = public[call] = named(planned(
            lambda args, kwargs: None if as_once(args, kwargs) else comes_to(**bound(args, kwargs)), call
        ), call)  # fmt: skip
    made.__signature__ = inspect.signature(declared).replace(parameters=header)
    made.__annotations__ = {p.name: p.annotation for p in header} | {"return": "Tensor"}
    getattr(made, "general", made).__wrapped__ = declared  # in whose words it is annotated
    return made


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


# ---- differences


def _weighted(each: Tensor, weight: Tensor, input: Tensor, reduction: int) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    each = each * weight
    if reduction == loss.NONE:
        return each
    return each.sum() if reduction == loss.SUM else each.sum() / weight.sum()


def _of_difference(name: str, doc: str, op: Callable[..., Tensor], of: Callable[[Tensor], Tensor]) -> Any:
    """A loss of the differences alone, each of which may have a weight."""

    def difference_loss(
        input: Tensor, target: Tensor, reduction: int = loss.MEAN, weight: Tensor | None = None
    ) -> Tensor:
        _warn_of_sizes(input, target)
        expanded, wanted = _broadcast_tensors(input, target)
        if weight is None:
            return op(expanded, wanted, reduction)
        return _weighted(of(expanded - wanted), weight, input, reduction)

    def steps(input: Tensor, target: Tensor, reduction: int, weight: Tensor | None) -> list[Any] | None:
        alike = weight is None and input.shape == target.shape
        return [(op, (input, target, reduction))] if alike else None

    difference_loss.__name__ = difference_loss.__qualname__ = name
    difference_loss.__doc__ = doc
    return reduced(difference_loss, comes_to=steps)


mse_loss = _of_difference(
    "mse_loss", "The squared differences, each times its `weight`.", loss.mse_loss, lambda away: away**2
)
l1_loss = _of_difference(
    "l1_loss", "The absolute differences, each times its `weight`.", loss.l1_loss, lambda away: away.abs()
)


@reduced
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: int = loss.MEAN, beta: float = 1.0) -> Tensor:
    """Half the squared difference over `beta` where it is less than that, beyond the absolute one less `beta / 2`."""
    _warn_of_sizes(input, target)
    expanded, wanted = _broadcast_tensors(input, target)
    if beta == 0.0:
        return loss.l1_loss(expanded, wanted, reduction)
    return loss.smooth_l1_loss(expanded, wanted, reduction, beta)


@overridable
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared difference where it is at most `delta`, beyond that a line."""
    _warn_of_sizes(input, target)
    expanded, wanted = _broadcast_tensors(input, target)
    number = _reduction.get_enum(reduction)
    if weight is None:
        return loss.huber_loss(expanded, wanted, number, delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return loss.reduced(loss.huber_loss(expanded, wanted, loss.NONE, delta) * weight, number)


# ---- probabilities


@reduced
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = loss.MEAN
) -> Tensor:
    """How unlikely the target is, a probability itself, where `input` is the probability of 1."""
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(_common(target.size(), weight.size()))
    return loss.binary_cross_entropy(input, target, weight, reduction)


def _common(wanted: Any, shape: Any) -> Any:
    """The shape `wanted`, when one of this shape broadcasts to it."""
    for back in range(1, len(shape) + 1):
        if back <= len(wanted) and shape[-back] not in (1, wanted[-back]):
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {shape[-back]} at -{back}! Mismatching argument at "
                f"index 1 had {shape}; but expected shape should be broadcastable to {list(wanted)}"
            )
    return wanted


@reduced
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = loss.MEAN,
    pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`binary_cross_entropy` of the sigmoid of `input`; what is true counts `pos_weight` times."""
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return loss.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


@overridable
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The divergence of `target` from the distribution whose logarithm is `input`."""
    if size_average is not None or reduce is not None:
        number = _reduction.legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                "behave the same as 'batchmean' in the next major release.",
            )
        number = _reduction.get_enum("sum" if reduction == "batchmean" else reduction)
    made = functions["kl_div"](input, target, number, log_target=log_target)
    return made / input.size()[0] if reduction == "batchmean" and input.dim() else made


@reduced(before="eps")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: int = loss.MEAN,
) -> Tensor:  # fmt: skip
    """How unlikely counts are whose mean, or its logarithm, is `input`."""
    return functions["poisson_nll_loss"](input, target, log_input, full, eps, reduction)


@overridable
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """How unlikely values are that are normally distributed around `input`, with variance `var` (at least `eps`)."""
    if not isinstance(var, TensorBase):
        if not isinstance(var, float):
            raise TypeError(f"any() received an invalid combination of arguments - got ({type(var < 0).__name__})")
        if var < 0:
            raise ValueError("var has negative entry/entries")
        spread: Tensor = var * functions["ones_like"](input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    else:
        spread = var
    if spread.size() != input.size():
        if input.size()[:-1] == spread.size():
            spread = spread.unsqueeze(-1)
        elif spread.dim() != input.dim() or [v for n, v in zip(input.size(), spread.size()) if n != v] != [1]:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    held = spread.clone()
    with no_grad():
        held.clamp_(min=eps)
    each = 0.5 * (held.log() + (input - target) ** 2 / held)
    if full:
        each = each + 0.5 * math.log(2 * math.pi)
    return loss.reduced(each, _reduction.get_enum(reduction))


# ---- classes

_CLASSES = "Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index"
_NLL = Signature(f"nll_loss_nd({_CLASSES})")


@reduced(before="ignore_index")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: int = loss.MEAN
) -> Tensor:
    """Minus the inputs (logarithms of probabilities) of the target's classes, which lie along dimension 1."""
    return class_loss.nll_loss_nd(*_NLL.bind((input, target, weight, reduction, ignore_index), {}))


def _cross_entropy_steps(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int, label_smoothing: float
) -> Any:
    return class_loss.cross_entropy_steps(input, target, weight, reduction, ignore_index, label_smoothing)


@reduced(before="ignore_index", comes_to=_cross_entropy_steps)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: int = loss.MEAN,
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """How unlikely the target's classes are by the softmax of `input`; it may give their probabilities instead."""
    return class_loss.cross_entropy_loss(input, target, weight, reduction, ignore_index, label_smoothing)


@reduced
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    reduction: int = loss.MEAN,
) -> Tensor:  # fmt: skip
    """How far other classes come nearer to the wanted one than `margin`, to the power `p`."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return margin_loss.multi_margin_loss(input, target, p, margin, weight, reduction)


@reduced
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int = loss.MEAN) -> Tensor:
    """How far other classes come nearer than 1 to those that `target` lists, up to the first -1."""
    return margin_loss.multilabel_margin_loss(input, target, reduction)


@reduced
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = loss.MEAN
) -> Tensor:
    """How unlikely each class is to be there or not, as the target says; the mean over classes."""
    each = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        each = each * weight
    return loss.reduced(each.sum(input.dim() - 1) / input.size(input.dim() - 1), reduction)


@overridable
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of a linear map to (num_classes, ...).

    `options` say how PyTorch is to cut the computation into chunks; here it is done at once, in the precision that they
    ask for.
    """
    shape = linear_weight.shape
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if len(shape) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(shape)}")
    if input.shape[-1] != shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {shape[-1]}, respectively"
        )
    if linear_bias is not None and linear_bias.shape != shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {tuple(shape[:-1])}, got {tuple(linear_bias.shape)}")
    if len(shape) > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(shape)} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None and (label_smoothing or target.dtype is not int64 or len(shape) > 2):
        warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(shape[1:-1])}, tracing=False, "
            f"linear_bias.shape={None if linear_bias is None else tuple(linear_bias.shape)}."
        )
    dtype = input.dtype
    if options is not None and options.widens(dtype):
        given: tuple[Any, ...] = (input, linear_weight, linear_bias, weight, target)
        input, linear_weight, linear_bias, weight, target = [
            t if t is None or not t.is_floating_point() else t.float() for t in given
        ]
    if len(shape) == 2:
        scores = linear(input, linear_weight, linear_bias)
    else:
        bias = None if linear_bias is None else linear_bias.flatten()
        scores = linear(input, linear_weight.flatten(0, -2), bias).view(input.shape[0], *shape[:-1])
    made = class_loss.cross_entropy_loss(
        scores, target, weight, _reduction.get_enum(reduction), -100 if ignore_index is None else ignore_index,
        label_smoothing,
    )  # fmt: skip
    return made.to(dtype)


# ---- pairs and triples


@reduced
def soft_margin_loss(input: Tensor, target: Tensor, reduction: int = loss.MEAN) -> Tensor:
    """`log(1 + exp(-target * input))`, for targets of 1 and -1."""
    return loss.soft_margin_loss(input, target, reduction)


@reduced
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = loss.MEAN) -> Tensor:
    """The input where the target is 1, and how far it is below the margin where that is -1."""
    return functions["hinge_embedding_loss"](input, target, margin, reduction)


@reduced
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: int = loss.MEAN
) -> Tensor:
    """How much `input1` lacks to be above `input2` by the margin, or below it where the target is -1."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return functions["margin_ranking_loss"](input1, input2, target, margin, reduction)


@reduced
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: int = loss.MEAN
) -> Tensor:
    """One less the cosine where the target is 1, and what it has above the margin where that is -1."""
    return functions["cosine_embedding_loss"](input1, input2, target, margin, reduction)


@reduced
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, reduction: int = loss.MEAN,
) -> Tensor:  # fmt: skip
    """How much nearer than the margin the negative is to the anchor than the positive."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return functions["triplet_margin_loss"](anchor, positive, negative, margin, p, eps, swap, reduction)


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` by a distance of one's own."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or functions["pairwise_distance"]
    dims = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = functions["minimum"](far, distance(positive, negative))
    return loss.reduced((margin + near - far).clamp_min(0), _reduction.get_enum(reduction))


@overridable
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the likelihood of label sequences whose places in time are not known."""
    number = _reduction.get_enum(reduction)
    return functions["ctc_loss"](log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
