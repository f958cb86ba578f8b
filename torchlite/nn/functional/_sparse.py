"""Embeddings and one-hot vectors."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor, functions, overridable
from ...core.values import dt, warn
from ...operations.places.embedding import embedding_op
from ...operations.places.embedding import one_hot_ as one_hot
from ..headers import known_by_form

__all__ = ["embedding", "embedding_bag", "one_hot"]

_embedding, _arange = functions["embedding"], functions["arange"]


def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        functions["embedding_renorm_"](weight, input, max_norm, norm_type)


def _embedding_of(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> tuple[Any, ...] | None:  # fmt: skip
    """The op that a call comes to, where `weight` stays as it is."""
    padding = -1 if padding_idx is None else padding_idx % weight.size(0)
    return None if max_norm is not None else (embedding_op, (weight, input, padding, scale_grad_by_freq, sparse))


@known_by_form(_embedding_of)
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` that `input` names; those of a norm above `max_norm` are first scaled down, in place."""
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


_MODES = {"sum": 0, "mean": 1, "max": 2}


@overridable
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima (`mode`) of rows of `weight` in bags: the rows of `input`, or what begins at `offsets`."""
    if weight.dtype is dt.int64 and input.is_floating_point():
        input, weight = weight, input
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {_said(offsets)}"
            )
        offsets = _arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return functions["embedding_bag"](
        weight, input, offsets, scale_grad_by_freq, _MODES[mode], sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip


def _said(value: Any) -> str:
    return str(type(value)).replace("torchlite.core.machine.tensor", "torch")
