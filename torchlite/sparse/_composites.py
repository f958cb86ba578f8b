"""Ops that PyTorch makes of others: on sparse tensors they are made of these, too, and so computed or refused alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from ..backends.sparse import without
from ..core.machine import Tensor
from ..core.machine.registry import registry
from ..core.values import dt, missing_kernel_of, preserve_format
from ..operations.formulas import tensors
from ..operations.learning.losses import reduced
from ._family import is_compressed, is_sparse, rule

_LAYER_NORM = registry["native_layer_norm"]


def not_contiguous(t: Tensor) -> RuntimeError:
    """The error for a tensor that is to lie in one piece of memory."""
    if is_compressed(t):
        return without(t.layout, "is_contiguous")
    return RuntimeError("unsupported memory format option Contiguous")


# ---- losses


@rule("binary_cross_entropy_with_logits")
def _loss_of_logits(
    self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    likely = registry["log_sigmoid"].apply(self)
    if pos_weight is not None:
        likely = likely * ((pos_weight - 1) * target + 1)
    rest = tensors.full_like(target, 1, memory_format=preserve_format) if is_sparse(target) else 1 - target
    loss = rest * self - likely
    return reduced(loss if weight is None else loss * weight, reduction)


@rule("soft_margin_loss")
def _soft_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    return reduced((-self).mul_(target).exp_().log1p_(), reduction)


@rule("isreal")
def _isreal(self: Tensor) -> Tensor:
    return tensors.ones_like(self, dtype=dt.bool_, memory_format=preserve_format)


# ---- layers


@rule("native_layer_norm")
def _layer_norm(input: Tensor, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> tuple[Tensor, ...]:
    for t in (input, weight):
        if is_sparse(t):
            raise not_contiguous(t)
    made, *statistics = _LAYER_NORM.apply(input, shape, weight, None, eps)
    return bias.addcmul(made, tensors.ones_like(made)), *statistics


@rule("_scaled_dot_product_attention")
def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float | None
) -> Tensor:
    if query.dim() == 4:
        for t in (query, key, value):
            if is_compressed(t):
                raise without(t.layout, "strides")
    factor = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if causal:
        size = query.shape[-2], key.shape[-2]
        mask = tensors.ones(size, dtype=dt.bool_, layout=query.layout, device=query.device).tril()
        mask = query.new_zeros(size).masked_fill(~mask, -math.inf)
    scores = (query * factor) @ (key.mT * factor)
    return (scores if mask is None else scores + mask).softmax(-1) @ value


@rule("block_diag")
def _block_diag(parts: Sequence[Tensor]) -> Tensor:
    rows = [t if t.dim() == 2 else t.expand((1, t.numel())) for t in parts]
    height, width = (sum(t.shape[d] for t in rows) for d in (0, 1))
    made = tensors.zeros((height, width), dtype=parts[0].dtype, layout=parts[0].layout, device=parts[0].device)
    at = 0, 0
    for t in rows:
        end = at[0] + t.shape[0], at[1] + t.shape[1]
        made[at[0] : end[0], at[1] : end[1]].copy_(t)
        at = end
    return made


# ---- convolutions


def _kernel(dims: int, dilation: Sequence[int], transposed: bool) -> str:
    """What PyTorch computes a convolution by where no library does."""
    if transposed:
        return f"slow_conv_transpose{dims}d"
    if any(step != 1 for step in dilation):
        return f"slow_conv_dilated{dims}d"
    return "_slow_conv2d_forward" if dims == 2 else "slow_conv3d_forward"


def _type(t: Tensor) -> str:
    return f"SparseCsrtorch.{t.dtype.legacy}Tensor" if is_compressed(t) else t.type()


@rule("convolution")
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Sequence[int],
    transposed: bool, output_padding: Any, groups: int,
) -> NoReturn:  # fmt: skip
    dims, kernel = weight.dim() - 2, weight.shape[2:]
    if dims == 1:  # as one of two dimensions
        if is_sparse(input):
            raise not_contiguous(input)
        if is_compressed(weight):
            raise without(weight.layout, "strides")
        dims, kernel = 2, (1, *kernel)
    if groups > 1 or input.shape[0] > 1 or min(kernel[-2:]) > 3 or input.numel() > 20480:  # by a library
        for name, t in (("weight", weight), ("bias", bias)):
            if t is not None and t.layout is not input.layout:
                raise RuntimeError(
                    f"Input type ({_type(input)}) and {name} type ({_type(t)}) should be the same or input should be a "
                    f"MKLDNN tensor and {name} is a dense tensor"
                )
    name = _kernel(dims, dilation, transposed)
    sparse = next(t for t in (input, weight, bias) if t is not None and is_sparse(t))
    if sparse is bias or name == "slow_conv3d_forward":
        raise missing_kernel_of(name, sparse._backend.real)
    raise not_contiguous(sparse)
