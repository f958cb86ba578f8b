"""Losses of pairs: how far each prediction is from what was to be predicted, averaged, added up or one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ...backends.base import get_backend
from ...core.declare import (
    By,
    Elementwise,
    Formula,
    as_operand,
    contiguous,
    describe,
    publish,
    publish_loss,
    publish_python,
    published,
)
from ...core.machine import Tensor, fitting_array, get_recorded, result_type
from ...core.state import is_watched
from ...core.values import (
    Array,
    Namespace,
    broadcast_shapes,
    cannot_cast,
    contiguous_format,
    dt,
    not_implemented_for,
    or_own,
    within,
)
from ..formulas import sigmoid, tensors
from ..gradient_kernels import by_kernel, by_kernel_of
from ..pointwise.arithmetic import add_number, neg

NONE, MEAN, SUM = range(3)  # how a loss is reduced


def reduced(each: Tensor, reduction: int) -> Tensor:
    """The losses of all elements reduced."""
    return each.mean() if reduction == MEAN else each.sum() if reduction == SUM else each


def _share(reduction: int, *operands: Any) -> float:
    """What one element's loss counts for in the result."""
    if reduction != MEAN:
        return 1
    numbers = (int, float, type(None))
    size = math.prod(broadcast_shapes(*[t.shape for t in operands if not isinstance(t, numbers)]))
    return 1 / size if size else 1


def _reduced_array(xp: Namespace, each: Array, reduction: int) -> Any:
    if reduction == NONE:
        return each
    total = xp.add.reduce(each, None)
    return total / each.dtype.type(each.size or math.nan) if reduction == MEAN else total


class _Formulas:
    """What a loss's kernels, and its gradients in steps, make of the formulas for one element."""

    def __init__(self, schema: str, value: Callable[..., Any], slope: Callable[..., Any], in_rows: bool) -> None:
        self.in_rows = in_rows
        self.name, _, self.rest = schema.partition("(")
        parts = self.rest.rstrip(")").split(",")
        self.names = [part.partition("=")[0].split()[-1] for part in parts]
        self.at = self.names.index("reduction")
        self.unweighted = dict.fromkeys([n for n, p in zip(self.names, parts) if p.strip().startswith("Tensor?")])
        self.value, self.slope = value, slope

    def split(self, values: Any) -> tuple[int, list[Any]]:
        """The reduction, and the other arguments."""
        rest = list(values)
        return rest.pop(self.at), rest

    def parts(self, *values: Any) -> tuple[Any, ...]:
        reduction, given = self.split(values)
        return self.value, given, reduction, ()

    def back_parts(self, g: Array, *values: Any) -> tuple[Any, ...]:
        reduction, given = self.split(values)
        return self.slope, given, None, (g, float(_share(reduction, *given)))

    def kernel(self, xp: Namespace, *values: Any) -> Any:
        reduction, given = self.split(values)
        return _reduced_array(xp, self.value(xp, *given), reduction)

    def back_kernel(self, xp: Namespace, g: Array, *values: Any) -> Any:
        reduction, given = self.split(values)
        share = _share(reduction, *given)
        made = self.slope(xp, *given) * (g if share == 1 else g * g.dtype.type(share))
        return made.copy("C") if self.in_rows and not made.flags.c_contiguous else made

    def in_steps(self, *values: Any) -> Tensor:
        reduction, given = self.split(values)
        return reduced(self.value(tensors, *given), reduction)

    def scaled(self, formula: Callable[..., Any], factors: Any, values: Any) -> Any:
        """The product of some tensors and a formula, for the mean over their number; of halves, in float32."""
        reduction, given = self.split(values)
        half = factors[0].dtype if factors[0].dtype in dt.HALVES else None
        if half:
            factors, given = [[t.float() if isinstance(t, Tensor) else t for t in some] for some in (factors, given)]
        made, share = formula(tensors, *given) * factors[0], _share(reduction, *given)
        made = made if share == 1 else made * share
        made = made * factors[1] if len(factors) > 1 else made
        return made.to(half) if half else made

    def times_g(self, formula: Callable[..., Any]) -> Formula:
        """The derivative that is this formula times the gradient."""
        return Formula(lambda g, *values: self.scaled(formula, (g,), values), "g", *self.names)

    def times_both(self, formula: Callable[..., Any]) -> Formula:
        """The same, of a gradient: the formula times both."""
        return Formula(lambda g, to, *values: self.scaled(formula, (g, to), values), "g", "grad_output", *self.names)


def pairwise(
    schema: str, value: Callable[..., Any], slope: Callable[..., Any], bend: Callable[..., Any],
    to_target: Callable[..., Any] | None = None, cross: Callable[..., Any] | None = None, *, label: str,
    back_label: str | None = None, back_node: str | None = None, odd: bool = False, in_rows: bool = False,
    as_self: bool = False, in_steps: Callable[..., Any] | None = None, **more: Any,
) -> Elementwise:  # fmt: skip
    """A loss, from formulas for one element's: its value, its derivative by `self`, and that one's by `self` again.

    `to_target` is the derivative by the target, and `cross` that of `slope` by it; without them it has none. All are
    functions of a namespace and of the arguments in order, but for the reduction. `odd` says that `slope` changes its
    sign where self and target change places, so that it gives that too. `in_rows` says that gradients lie row by row,
    however the operands do; `as_self`, that they lie as `self` does. `in_steps` is the gradient on tensors, where
    PyTorch has no op for it: modes see its steps, and to differentiate again takes what these keep.
    """
    of = _Formulas(schema, value, slope, in_rows)
    bends: dict[str, Any] = {"grad_output": of.times_g(slope), "self": of.times_both(bend), "target": None}
    if cross is not None:
        bends["target"] = of.times_both(cross)
    shared: dict[str, Any] = {"dtypes": dt.FLOATS, "halves": "wide"}
    rest = of.rest if "weight=None" in of.rest else re.sub("=[^,)]+", "", of.rest)  # of which PyTorch has no defaults
    back = Elementwise(
        f"{of.name}_backward(Tensor grad_output, {rest}", of.back_kernel, bends | of.unweighted, node=back_node,
        batch=lambda g, *values: of.scaled(slope, (g,), values), label=back_label or label,
        arranged=contiguous if in_rows else as_operand(1) if as_self else None, by_pair=of.back_parts, **shared,
    )  # fmt: skip
    rules: dict[str, Any] = {"self": _seen_in_steps(back, in_steps) if in_steps else back, "target": None}
    if to_target is not None:
        rules["target"] = By(back, {"self": "target", "target": "self"}) if odd else of.times_g(to_target)
    return Elementwise(
        schema, of.kernel, rules | of.unweighted, batch=of.in_steps, label=label, diagonal=False,
        on_arrays=by_kernel_of(back) if in_steps else by_kernel, by_pair=of.parts, **shared | more,
    )  # fmt: skip


def _seen_in_steps(back: Elementwise, in_steps: Callable[..., Any]) -> Formula:
    """A gradient that is made of steps where a graph or a mode gets to see them."""

    def gradient(g: Tensor, *values: Any) -> Tensor:
        seen = is_watched() or get_recorded((g, *values))
        return (in_steps if seen else back.apply)(g, *values)

    return Formula(gradient, "g", *[p.name for p in back.signature.params[1:]])


def _minus(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: -formula(*values)


def _of_difference(schema: str, value: Any, slope: Any, bend: Any, **more: Any) -> Elementwise:
    """A loss that depends on the difference alone; formulas are functions of that."""

    def of_pair(formula: Callable[..., Any]) -> Callable[..., Any]:
        return lambda xp, self, target, *rest: formula(xp, self - target, *rest)

    value, slope, bend = of_pair(value), of_pair(slope), of_pair(bend)
    return pairwise(schema, value, slope, bend, _minus(slope), _minus(bend), odd=True, in_rows=True, **more)


mse_loss = publish(
    _of_difference(
        "mse_loss(Tensor self, Tensor target, int reduction=1)",
        lambda xp, d: d * d, lambda xp, d: d * 2, lambda xp, d: d * 0 + 2, label="mse_cpu",
        back_label="mse_backward_cpu_out",
    ),
    function=False, method=False,
)  # fmt: skip


def _check_beta(self: Tensor, target: Tensor, reduction: int, beta: float) -> None:
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")


smooth_l1_loss = publish(
    _of_difference(
        "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
        lambda xp, d, beta: xp.where(xp.absolute(d) < beta, d * d * (0.5 / (beta or 1)), xp.absolute(d) - 0.5 * beta),
        lambda xp, d, beta: xp.clip(d / beta, -1, 1) if beta else xp.sign(d),
        lambda xp, d, beta: xp.where(xp.absolute(d) < beta, d * 0 + 1 / (beta or 1), 0),
        label="smooth_l1_cpu", back_label="smooth_l1_backward_cpu_out", check=_check_beta,
    ),
    function=False, method=False,
)  # fmt: skip


def _check_delta(self: Tensor, target: Tensor, reduction: int, delta: float) -> None:
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    d = result_type(self, target)
    if not dt.can_cast(d, self.dtype):
        raise cannot_cast(d, self.dtype)


huber_loss = publish(
    _of_difference(
        "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)",
        lambda xp, d, delta: xp.where(xp.absolute(d) <= delta, d * d * 0.5, (xp.absolute(d) - 0.5 * delta) * delta),
        lambda xp, d, delta: xp.clip(d, -delta, delta),
        lambda xp, d, delta: xp.where(xp.absolute(d) < delta, d * 0 + 1, 0),
        label="huber_cpu", back_label="huber_backward_cpu_out", check=_check_delta,
    ),
    function=False, method=False,
)  # fmt: skip


def _soft_margin_bend(xp: Namespace, self: Array, target: Array) -> Any:
    s = sigmoid(xp, self * target)
    return target * target * s * (1 - s)


def _check_soft_margin(self: Tensor, target: Tensor, reduction: int) -> None:
    """PyTorch computes in memory like the input's."""
    neg.compute_dtype((self,))  # of bools it is refused
    within(self.shape, target.shape)
    d = result_type(self, target)
    if not dt.can_cast(d, self.dtype):
        raise cannot_cast(d, self.dtype)


_soft_margin_loss = pairwise(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1)",
    lambda xp, self, target: xp.log1p(xp.exp(-self * target)),
    lambda xp, self, target: -target * sigmoid(xp, -self * target),
    _soft_margin_bend,
    label="soft_margin_cpu", dtypes=None, complex_gradients=False, check_form=_check_soft_margin,
    refuse=lambda d: None if d.category >= dt.FLOAT else cannot_cast(dt.get_default_dtype(), d),
    non_differentiable=("target",),
)  # fmt: skip


def _of_the_input_dtype(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    _soft_margin_loss.check(self, target, reduction)  # type: ignore[misc]  # which has one
    return _soft_margin_loss.apply(self, target if target.dtype is self.dtype else target.to(self.dtype), reduction)


soft_margin_loss = publish_python(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1)", _of_the_input_dtype, function=False, method=False,
)


# ---- of probabilities


@or_own  # devices say so when they are waited for
def check_probabilities(xp: Namespace, input: Array, target: Array) -> None:
    """Raise if an element does not lie between 0 and 1."""
    for name, x in (("input", input), ("target", target)):
        if x.size and not bool(((x >= 0) & (x <= 1)).all()):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")


def _check_likelihoods(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int) -> None:
    if target.dtype is not self.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.legacy} but expected {self.dtype.legacy}")
    backend = self._backend.real
    if backend.values and not backend.level:
        check_probabilities(backend.xp, self._array, target._array)


def _weighted(made: Any, weight: Any) -> Any:
    return made if weight is None else made * weight


def _logs(xp: Namespace, x: Array) -> tuple[Any, Any]:
    """The logarithms of probabilities and of what is left to 1, finite."""
    return xp.clip(xp.log(x), -100, math.inf), xp.clip(xp.log1p(-x), -100, math.inf)


def _entropy(xp: Namespace, x: Array, t: Any, w: Any) -> Any:
    log, log_of_rest = _logs(xp, x)
    return _weighted((t - 1) * log_of_rest - t * log, w)


def _spread(xp: Namespace, x: Array) -> Array:
    """The variance of a coin that shows heads with probability `x`."""
    return xp.clip((1 - x) * x, 1e-12, math.inf)


binary_cross_entropy = publish(
    pairwise(
        "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
        _entropy,
        lambda xp, x, t, w: _weighted((x - t) / _spread(xp, x), w),
        lambda xp, x, t, w: _weighted((x * x - x * t * 2 + t) / _spread(xp, x) ** 2, w),
        lambda xp, x, t, w: _weighted(xp.log1p(-x) - xp.log(x), w),
        lambda xp, x, t, w: _weighted(-1 / _spread(xp, x), w),
        label="binary_cross_entropy", check=_check_likelihoods, as_self=True,
        non_differentiable=("weight",),
    ),
    function=False, method=False,
)  # fmt: skip


def _softplus_of_minus(xp: Namespace, x: Array) -> Any:
    return xp.log1p(xp.exp(-xp.absolute(x))) - xp.clip(x, -math.inf, 0)


def _of_positives(t: Any, pos_weight: Any) -> Any:
    """What the part of a target that is true counts for."""
    return 1 if pos_weight is None else (pos_weight - 1) * t + 1


def _log_odds(xp: Namespace, x: Array, w: Any, pos: Any) -> Any:
    """The derivative by the target: how much less likely it is to be true than not."""
    if pos is None:
        return _weighted(-x, w)
    return _weighted(pos * _softplus_of_minus(xp, x) - _softplus_of_minus(xp, -x), w)


def _logits_slope(xp: Namespace, x: Array, t: Any, w: Any, pos: Any) -> Any:
    if pos is None:
        return _weighted(sigmoid(xp, x) - t, w)
    return _weighted(1 - t - _of_positives(t, pos) * sigmoid(xp, -x), w)


def _logits_gradient(
    g: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    if pos_weight is None:
        made = (self.sigmoid() - target) * g
    else:
        t = pos_weight * target
        made = ((t + 1 - target) * self.sigmoid() - t) * g
    if weight is not None:
        made.mul_(weight)
    return made.div_(self.numel()) if reduction == MEAN else made


def _logits_bend(xp: Namespace, x: Array, t: Any, w: Any, pos: Any) -> Any:
    s = sigmoid(xp, x)
    return _weighted(_of_positives(t, pos) * (s * (1 - s)), w)


def _check_logits(
    self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> None:
    """The loss is computed in place of what a target is short of one, and of the logits."""
    if target.dtype is dt.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if target.dtype.category < min(self.dtype.category, dt.FLOAT):
        raise cannot_cast(self.dtype, target.dtype)
    if self.dtype.category < dt.FLOAT:
        raise not_implemented_for("log_sigmoid_cpu", self.dtype)
    within(target._array.shape, self._array.shape)
    if pos_weight is not None:
        within(self._array.shape, broadcast_shapes(self._array.shape, pos_weight._array.shape))
    if weight is not None:
        within(target._array.shape, weight._array.shape)


bce_with_logits = pairwise(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=1)",
    lambda xp, x, t, w, pos: _weighted((1 - t) * x + _of_positives(t, pos) * _softplus_of_minus(xp, x), w),
    _logits_slope,
    _logits_bend,
    lambda xp, x, t, w, pos: _log_odds(xp, x, w, pos),
    lambda xp, x, t, w, pos: _weighted(-1 - (0 if pos is None else (pos - 1) * sigmoid(xp, -x)), w),
    label="log_sigmoid_cpu", check=_check_logits, arranged=as_operand(1), as_self=True,
    prepare=lambda op, values, backend: (Elementwise.prepare(op, values, backend)[0], values[1].dtype),
    in_steps=_logits_gradient, non_differentiable=("weight", "pos_weight"),
)  # fmt: skip
publish_loss(bce_with_logits.signature.text, bce_with_logits.apply)
binary_cross_entropy_with_logits = publish(bce_with_logits, function=False, method=False)


# ---- made of other ops


l1_loss = publish_python(
    "l1_loss(Tensor self, Tensor target, int reduction=1)",
    lambda self, target, reduction: reduced((self - target).abs(), reduction), function=False, method=False,
)  # fmt: skip


def kl_div(input: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    """The divergence of `target` from the distribution whose logarithm is `input`."""
    if input.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    part = target - input if log_target else target * input
    return reduced(target.exp() * part if log_target else target.xlogy(target) - part, reduction)


publish_loss("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)", kl_div)


@published(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)", method=False
)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """How unlikely counts are whose mean, or its logarithm, is `input`."""
    less = target * (input if log_input else (input + eps).log())
    each = (input.exp() if log_input else input) - less
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        each = each + stirling.masked_fill(target <= 1, 0)
    return reduced(each, reduction)


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """The input where the target is 1, and how far it is below the margin where that is -1."""
    zeros = tensors.zeros_like(self, memory_format=contiguous_format)
    margin = fitting_array(margin, self.dtype, get_backend()).item()
    below = (margin - self).clamp_min_(0)
    apart = tensors.where(target != 1, below, zeros)
    return reduced(apart + tensors.where(target != -1, self, zeros), reduction)


publish_loss(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1)", hinge_embedding_loss
)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """How much `input1` lacks to be above `input2` by the margin, or below it where the target is -1."""
    apart = input1 - input2
    return reduced(add_number.apply(-target * apart, margin).clamp_min_(0), reduction)


publish_loss(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1)",
    margin_ranking_loss,
)


describe(
    binary_cross_entropy_with_logits="The cross entropy of targets and `sigmoid(input)`, made from `input` at once.",
)
