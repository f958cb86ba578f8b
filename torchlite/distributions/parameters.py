"""Parameters of distributions: made tensors, broadcast together, worked out from each other when first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..core.machine import Tensor
from ..core.values import finfo, get_default_dtype
from ..operations.pointwise.activations import log_sigmoid
from ..overrides import is_tensor_like
from .library import torch

euler_constant = 0.57721566490153286060


def each(**regions: Any) -> dict[str, Any]:
    """Of each parameter, the constraint that says where it must lie."""
    return regions


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of numbers and tensors, broadcast together. A number takes the dtype and device of the first tensor."""
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if all(map(is_tensor_like, values)):
        return torch.broadcast_tensors(*values)
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    for v in values:
        if isinstance(v, Tensor):
            options = {"dtype": v.dtype, "device": v.device}
            break
    return torch.broadcast_tensors(*[v if is_tensor_like(v) else torch.tensor(v, **options) for v in values])


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over so many of the last dimensions."""
    return value.reshape(*value.shape[:-dims], -1).sum(-1) if dims else value


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Standard normal numbers, of a tensor's dtype on its device."""
    return torch.empty(shape, dtype=like.dtype, device=like.device).normal_()


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """The same, for packages that call what PyTorch calls so."""
    return torch.empty(shape, dtype=dtype, device=device).normal_()


_sum_rightmost = sum_rightmost


def uniform(shape: Any, like: Tensor) -> Tensor:
    """Numbers between 0 and 1, of a tensor's dtype on its device."""
    return torch.rand(shape, dtype=like.dtype, device=like.device)


def epsilon(t: Tensor) -> float:
    return finfo(t.dtype).eps


def tiny(t: Tensor) -> float:
    return finfo(t.dtype).tiny


# ---- probabilities and logits


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1, so that they have logits."""
    return probs.clamp(min=epsilon(probs), max=1 - epsilon(probs))


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log p, or for binary outcomes log p / (1 - p)."""
    kept = clamp_probs(probs)
    return kept.log() - (-kept).log1p() if is_binary else kept.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities, normalised over the last dimension where outcomes are not binary."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Of binary outcomes with these logits, relative to target probabilities."""
    return (1 - target) * logits - log_sigmoid(logits)


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """The name and the value of the one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


# ---- triangles as vectors


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices with these entries, row by row, from a diagonal downwards."""
    count = vec.shape[-1]
    n = round(((1 + 8 * count) ** 0.5 - 1) / 2) - diag
    if n * (n + 1 + 2 * diag) + diag * (diag + 1) != 2 * count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    rows, columns = torch.tril_indices(n, n, diag).unbind()
    matrix[..., rows, columns] = vec
    return matrix


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries of lower triangular matrices from a diagonal downwards, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag).unbind()
    return mat[..., rows, columns]


# ---- lazy parameters


class lazy_property:
    """A method whose value, once asked for, is an attribute. It is worked out with gradients on."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]  # as it is a descriptor

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _OfClass(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _OfClass(lazy_property, property):
    """What the class itself shows, so that tools that look for properties find one."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)
