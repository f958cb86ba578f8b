"""Connectionist temporal classification: the likelihood of a sequence of labels whose places in time are not known.

With blanks between and around them, the S labels of a target become 2S + 1 states, of which a path takes one for each
step in time: it stays, goes on to the next, or passes over a blank between two different labels. `alpha` and `beta` are
the logarithms of what the paths that begin, or end, in a state are worth together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import By, Composite, LaidOp, describe, publish
from ...core.machine import NOT_IMPLEMENTED, Tensor, TensorBase
from ...core.values import Array, Backend, Namespace, dt, not_implemented_for
from ..formulas import tensors
from ..vocabulary import undifferentiable
from .losses import MEAN, NONE, SUM


def _check_targets(targets: Tensor, dim: int, compared: str, needed: int, where: str) -> None:
    have = targets.shape[dim]
    if have < needed or (have > needed and compared == "size"):
        raise RuntimeError(
            f"Expected tensor to have {compared} {needed} at dimension {dim}, but got size {have} for argument #2 "
            f"'targets'{where}"
        )


def _check(
    log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int, *_: Any
) -> None:
    if log_probs.dtype not in (dt.float32, dt.float64):
        raise not_implemented_for("ctc_loss_cpu", log_probs.dtype)
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    steps, batch, labels = log_probs.shape
    if not 0 <= blank < labels:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    where = " (while checking arguments for ctc_loss_allocate_outputs)"
    for n in target_lengths:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {n}{where}")
    if targets.dim() == 1:
        _check_targets(targets, 0, "size", sum(target_lengths), where)
    else:
        _check_targets(targets, 0, "size", batch, where)
        _check_targets(targets, 1, "size at least", max(target_lengths, default=0), where)
    for n in input_lengths:
        if n < 0:
            raise RuntimeError(f"Expected input_lengths to have value at least 0, but got value {n}{where}")
        if n > steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {n}{where}")


def _states(backend: Backend, targets: Array, target_lengths: Sequence[int], blank: int) -> tuple[Any, Any]:
    """The labels of the states, by element; and which of them can be reached from the last state but one."""
    xp, batch, longest = backend.xp, len(target_lengths), max(target_lengths, default=0)
    labels = xp.full((batch, 2 * longest + 1), blank, dt.int64.numpy)
    start = 0
    for n, length in enumerate(target_lengths):
        if targets.ndim == 1:
            labels[n, 1 : 2 * length : 2] = targets[start : start + length]
            start += length
        else:
            labels[n, 1 : 2 * length : 2] = targets[n, :length]
    skips = xp.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def _log_sum(xp: Namespace, *terms: Any) -> Any:
    high = terms[0]
    for term in terms[1:]:
        high = xp.maximum(high, term)
    base = xp.where(high == -math.inf, 0, high)
    return xp.log(sum([xp.exp(term - base) for term in terms])) + base


def _moved(xp: Namespace, states: Array, by: int) -> Any:
    """The states `by` places further on (or back), with nothing where there was none."""
    made = xp.full(states.shape, -math.inf, states.dtype)
    if by > 0:
        made[:, by:] = states[:, :-by]
    else:
        made[:, :by] = states[:, -by:]
    return made


def _emitted(xp: Namespace, log_probs: Any, labels: Array) -> Array:
    """What each state is worth at each time."""
    return xp.take_along_axis(log_probs, xp.broadcast_to(labels, (len(log_probs), *labels.shape)), 2)


def _lengths(backend: Backend, lengths: Sequence[int]) -> Any:
    return backend.xp.asarray(list(lengths), dt.int64.numpy)


def _ctc(
    backend: Backend, log_probs: Array, targets: Any, input_lengths: Any, target_lengths: Any, blank: int,
    zero_infinity: bool,
) -> tuple[Any, ...]:  # fmt: skip
    xp = backend.xp
    steps, batch, _ = log_probs.shape
    labels, skips = _states(backend, targets, target_lengths, blank)
    emitted = _emitted(xp, log_probs, labels)
    alpha = xp.full((batch, steps, labels.shape[1]), -math.inf, log_probs.dtype)
    has_labels = _lengths(backend, target_lengths) > 0
    if steps:
        alpha[:, 0, 0] = emitted[0, :, 0]
        if labels.shape[1] > 1:
            alpha[:, 0, 1] = xp.where(has_labels, emitted[0, :, 1], -math.inf)
    for t in range(1, steps):
        last = alpha[:, t - 1]
        passing = xp.where(skips, _moved(xp, last, 2), -math.inf)
        alpha[:, t] = _log_sum(xp, last, _moved(xp, last, 1), passing) + emitted[t]
    at, ends = xp.arange(batch), 2 * _lengths(backend, target_lengths)
    times = _lengths(backend, input_lengths) - 1
    first, second = alpha[at, times, ends], alpha[at, times, xp.maximum(ends - 1, 0)]
    loss = -_log_sum(xp, first, xp.where(has_labels, second, -math.inf))
    loss = xp.where(times < 0, xp.where(has_labels, math.inf, 0), loss).astype(log_probs.dtype)
    return loss, alpha


def _ctc_backward(
    backend: Backend, g: Array, log_probs: Array, targets: Any, input_lengths: Any, target_lengths: Any, loss: Array,
    alpha: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    xp = backend.xp
    steps, batch, classes = log_probs.shape
    labels, skips = _states(backend, targets, target_lengths, blank)
    emitted = _emitted(xp, log_probs, labels)
    state, ends = xp.arange(labels.shape[1]), 2 * _lengths(backend, target_lengths).reshape((-1, 1))
    final = (state == ends) | (state == ends - 1)
    times = _lengths(backend, input_lengths).reshape((-1, 1))
    skips_from = xp.zeros(skips.shape, bool)
    skips_from[:, :-2] = skips[:, 2:]
    made = xp.exp(xp.ascontiguousarray(log_probs))  # row by row, so that each time is written to as it lies
    each = labels + (xp.arange(batch) * classes).reshape((-1, 1))  # where a state's label lies, at one time
    beta = xp.full(labels.shape, -math.inf, log_probs.dtype)
    for t in range(steps - 1, -1, -1):
        passing = xp.where(skips_from, _moved(xp, beta, -2), -math.inf)
        going = _log_sum(xp, beta, _moved(xp, beta, -1), passing) + emitted[t]
        beta = xp.where(t == times - 1, xp.where(final, emitted[t], -math.inf), going)
        beta = xp.where(state <= ends, beta, -math.inf)
        # The share of all paths that go through each state at this time.
        shares = xp.exp(alpha[:, t] + beta - emitted[t] + loss.reshape((-1, 1)))
        shares = xp.where(alpha[:, t] + beta > -math.inf, shares, 0).astype(log_probs.dtype)
        xp.add.at(made[t].reshape(-1), each.reshape(-1), -shares.reshape(-1))
    made *= g.reshape((-1, 1))
    dead = xp.arange(steps).reshape((-1, 1)) >= times.reshape(-1)
    if zero_infinity:
        dead = dead | (loss == math.inf)
    return xp.where(dead[:, :, None], 0, made).astype(log_probs.dtype)


_LENGTHS = "Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths"
ctc_loss_backward = LaidOp(
    f"_ctc_loss_backward(Tensor grad, {_LENGTHS}, Tensor neg_log_likelihood, Tensor log_alpha, int blank, "
    "bool zero_infinity=False)",
    _ctc_backward,
    dict.fromkeys(("grad", "log_probs"), undifferentiable("derivative for aten::_ctc_loss_backward is not implemented"))
    | dict.fromkeys(("targets", "neg_log_likelihood", "log_alpha")),
    node=NOT_IMPLEMENTED,
)
ctc = LaidOp(
    f"_ctc_loss({_LENGTHS}, int blank=0, bool zero_infinity=False) -> (Tensor result0, Tensor result1)",
    _ctc,
    {
        "log_probs": By(ctc_loss_backward, {"neg_log_likelihood": "result0", "log_alpha": "result1"}), "targets": None,
    },
    check=_check, node="CtcLossBackward0", differentiable=1,
)  # fmt: skip


def _listed(lengths: Any, name: str) -> tuple[int, ...]:
    """Lengths as Python's ints."""
    if isinstance(lengths, TensorBase):
        if lengths.dtype.category >= dt.FLOAT or lengths.dtype is dt.bool_:
            raise RuntimeError(f"{name} must be integral")
        found = lengths.tolist()
        return tuple(found) if isinstance(found, list) else (found,)
    return tuple(lengths)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the likelihood of each target; the mean is taken of that by label."""
    alone = log_probs.dim() == 2
    inputs, lengths = _listed(input_lengths, "input_lengths"), _listed(target_lengths, "target_lengths")
    if alone:
        log_probs = log_probs.unsqueeze(1)
    made = ctc.apply(log_probs, targets.long(), inputs, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        made = tensors.where(made == math.inf, 0, made)
    if reduction == MEAN:
        sizes = tensors.tensor(lengths, dtype=made.dtype, device=made.device).clamp_min(1)
        return (made / sizes).mean()
    if reduction == SUM:
        return made.sum()
    return made.squeeze(0) if alone and reduction == NONE else made


for _default, _function in ((1, False), (0, True)):  # as `publish_loss` does
    _REST = f"int blank=0, int reduction={_default}, bool zero_infinity=False)"
    publish(
        Composite(f"ctc_loss.IntList({_LENGTHS}, {_REST}", ctc_loss),
        Composite(f"ctc_loss.Tensor({_LENGTHS.replace('int[]', 'Tensor')}, {_REST}", ctc_loss),
        names="ctc_loss", function=_function, method=False,
    )  # fmt: skip
publish(ctc, method=False)


describe(ctc_loss="The loss of sequences whose alignment with their targets is not known.")
