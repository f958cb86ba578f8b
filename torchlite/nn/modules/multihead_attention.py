"""Attention with several heads, as a module."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from ...autograd.grad_mode import is_grad_enabled
from ...core.machine import Tensor, functions
from ...core.values import DeviceLike, dt, jagged, shown_in
from .. import functional as F
from .. import init
from ..functional._attention import _canonical_mask, _none_or_dtype
from ..parameter import Parameter
from .fields import fields, made
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


@shown_in("torch.nn.modules.activation")  # where PyTorch has it
@fields(constants="batch_first", repr=False)
class MultiheadAttention(Module):
    """Attention in `num_heads` heads, each with its own part of the features, between two projections.

    `kdim` and `vdim` are the features of keys and values, where these differ from `embed_dim`. Tensors are (time,
    batch, features), with `batch_first` (batch, time, features), or without a batch.
    """

    embed_dim: int
    num_heads: int
    dropout: float = 0.0
    bias: InitVar[bool] = True
    add_bias_kv: InitVar[bool] = False
    add_zero_attn: bool = False
    kdim: int | None = None
    vdim: int | None = None
    batch_first: bool = False
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    bias_k: Tensor | None = made()
    bias_v: Tensor | None = made()

    def complete(self, bias: bool, add_bias_kv: bool, device: DeviceLike, dtype: Any) -> None:
        embed_dim, num_heads = self.embed_dim, self.num_heads
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        self.kdim = embed_dim if self.kdim is None else self.kdim
        self.vdim = embed_dim if self.vdim is None else self.vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*size: int) -> Parameter:
            return Parameter(functions["empty"](size, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = parameter(1, 1, embed_dim), parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True} | state)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """What each query attends to and, with `need_weights`, the weights, averaged over the heads or not.

        `key_padding_mask`, (batch, keys), says which keys are padding; `attn_mask`, (queries, keys) or that for every
        head, which keys a query may not look at. Floating-point masks are added to the scores. `is_causal` is a hint
        that `attn_mask` is the causal one.
        """
        if query.is_nested:
            masked = key_padding_mask is not None or attn_mask is not None
            return self._nested(query, key, value, masked, need_weights, average_attn_weights)
        key_padding_mask = _canonical_mask(
            key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        turned = self.batch_first and query.dim() == 3
        if turned:
            given = {id(t): t for t in (query, key, value)}  # what was one tensor stays one
            found = {at: t.transpose(1, 0) for at, t in given.items()}
            query, key, value = [found[id(t)] for t in (query, key, value)]
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return output.transpose(1, 0) if turned else output, weights

    def _nested(
        self, query: Tensor, key: Tensor, value: Tensor, masked: bool, need_weights: bool, average: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Each part of a nested tensor attends within itself, where PyTorch lets it: in inference."""
        from ...nested import as_nested_tensor

        refusals = (
            (query is not key or key is not value,
             "non-self attention was used (query, key, and value are not the same Tensor)"),
            (self.training, "training is enabled"),
            (self.num_heads % 2, "self.num_heads is not even"),
            (not self.batch_first, "batch_first was not True"),
            (masked, f"supplying both src_key_padding_mask and src_mask at the same time {' ' * 33}"
             "is not supported with NestedTensor input"),
            (query.layout is jagged, "some Tensor argument has_torch_function"),
            (is_grad_enabled() and any([t.requires_grad for t in (query, *self.parameters())]),
             "grad is enabled and at least one of query or the input/output projection weights or biases "
             "requires_grad"),
        )  # fmt: skip
        for refused, why in refusals:
            if refused:
                raise AssertionError(
                    "MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not "
                    f"hit because {why}"
                )
        attended = [
            self.forward(part, part, part, need_weights=need_weights, average_attn_weights=average)
            for part in query.unbind()
        ]
        parts, weights = zip(*attended)
        made = as_nested_tensor(list(parts))
        if not need_weights:
            return made, None
        longest = max([w.shape[-1] for w in weights])
        return made, functions["stack"]([F.pad(w, (0, longest - w.shape[-1]) * 2) for w in weights])

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, and its kind: 1 for one of padding, 2 for one that has all heads."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, keys = query.shape[:2]
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, keys, keys)
        else:
            merged = attn_mask.view(1, 1, keys, keys).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, keys).expand(-1, self.num_heads, -1, -1)
        return merged, 2
