"""Attention with several heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor, functions, overridable
from ...core.values import dt, warn
from ...operations.products.attention import scaled_dot_product_attention
from ...operations.products.linear import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _require(holds: Any, message: str, error: type[Exception] = AssertionError) -> None:
    if not holds:
        raise error(message)


# ---- masks


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: dt.dtype,
    check_other: bool = True,
) -> Tensor | None:  # fmt: skip
    """A mask as numbers to add: minus infinity where a bool one says True."""
    if mask is None:
        return None
    floating = mask.is_floating_point()
    _require(mask.dtype is dt.bool_ or floating, f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if floating:
        return mask
    return functions["zeros_like"](mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _none_or_dtype(input: Any) -> dt.dtype | None:
    """The dtype of a tensor, if there is one."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _padded(mask: Tensor | None) -> Tensor | None:
    """A mask for one key more, which all queries may look at."""
    return None if mask is None else functions["constant_pad_nd"](mask, (0, 1), 0)


def _merged(attn_mask: Tensor | None, padding: Tensor | None, batch: int, num_heads: int, keys: int) -> Tensor | None:
    """Both masks as one: what is padding has no weight for any query."""
    if padding is None:
        return attn_mask
    for at, wanted in enumerate((batch, keys)):
        have = padding.shape[at]
        _require(have == wanted, f"Expected key_padded_mask.shape[{at}] to be {wanted}, but got {have}")
    padding = padding.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


# ---- checks


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the query has a batch dimension; refuses shapes that do not fit."""
    dims = query.dim()
    _require(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    case = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    _require(
        key.dim() == value.dim() == dims,
        f"{case} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if padding is not None:
        _require(
            padding.dim() == dims - 1,
            f"{case} `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"{case} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _require(
                attn_mask.shape == expected, f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return dims == 3


def _check_mask(attn_mask: Tensor, heads: int, queries: int, keys: int) -> Tensor:
    """The mask with a dimension for the heads."""
    dims = attn_mask.dim()
    expected = (queries, keys) if dims == 2 else (heads, queries, keys)
    _require(
        attn_mask.shape == expected,
        f"The shape of the {dims}D attn_mask is {attn_mask.shape}, but should be {expected}.",
        RuntimeError,
    )
    return attn_mask.unsqueeze(0) if dims == 2 else attn_mask


def _masks_and_hint(
    key_padding_mask: Tensor | None, attn_mask: Tensor | None, dtype: dt.dtype, is_causal: bool, need_weights: bool
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks as numbers, and whether the hint that attention is causal says it all."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return key_padding_mask, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, False)
    return key_padding_mask, attn_mask, is_causal and key_padding_mask is None


def _one_more(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> bool:
    """Whether there is one more key and value for every sequence."""
    if bias_k is None or bias_v is None:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")
        return False
    _require(static_k is None, "bias cannot be added to static key.")
    _require(static_v is None, "bias cannot be added to static value.")
    return True


# ---- projections


def _pieces(x: Tensor, count: int) -> Sequence[Tensor]:
    """The pieces along the last dimension, each row by row."""
    apart = x.unflatten(-1, (count, x.size(-1) // count)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple([apart[at] for at in range(count)])


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> Sequence[Tensor]:
    """Queries, keys and values from one matrix for all of them."""
    size = q.size(-1)
    if q is k is v:
        return _pieces(linear(q, w, b), 3)
    sizes = [size, 2 * size] if k is v else [size] * 3
    weights = w.split(sizes)
    biases = [None] * len(sizes) if b is None else b.split(sizes)
    query, *rest = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases)]
    return (query, *_pieces(rest[0], 2)) if k is v else (query, *rest)


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values from a matrix each."""
    size = q.size(-1)
    for name, x, w in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        expected = (size, x.size(-1))
        _require(w.shape == expected, f"expecting {name} weights shape of {expected}, but got {w.shape}")
    for name, b in (("query", b_q), ("key", b_k), ("value", b_v)):
        if b is not None:
            _require(b.shape == (size,), f"expecting {name} bias shape of {(size,)}, but got {b.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_heads(x: Tensor, static: Tensor | None, name: str, heads: int, head_dim: int) -> Tensor:
    """(time, batch, features) as (batch and head, time, features of the head); or what is given instead."""
    if static is None:
        return x.reshape((x.shape[0], heads, head_dim)).transpose(0, 1)
    for at, wanted in ((0, heads), (2, head_dim)):
        _require(
            static.size(at) == wanted, f"expecting static_{name}.size({at}) of {wanted}, but got {static.size(at)}"
        )
    return static


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, bias: Tensor | None,
    separate: tuple[Tensor | None, ...] | None,
) -> Sequence[Tensor]:  # fmt: skip
    """Queries, keys and values, from one matrix or a separate one each."""
    if separate is None:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        _require(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        return _in_projection_packed(query, key, value, weight, bias)  # type: ignore[arg-type]
    _require(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for name, w in zip("qkv", separate):
        _require(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *separate, *biases)  # type: ignore[arg-type]


# ---- the whole


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, batch: int, num_heads: int, dropout_p: float, is_causal: bool
) -> Tensor:
    """What all heads make of it, (time, batch, heads, features of a head)."""
    q, k, v = [t.view(batch, num_heads, *t.shape[1:]) for t in (q, k, v)]
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.size(0) == 1 else mask.view(batch, num_heads, -1, k.size(2))
    return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal).permute(2, 0, 1, 3)


def _attended_with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """The same, (time, batch and head, features of a head), and the weights of each head."""
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    turned = k.transpose(-2, -1)
    scores = scaled.bmm(turned) if mask is None else functions["baddbmm"](mask, scaled, turned)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = functions["dropout"](weights, dropout_p, True)
    return weights.bmm(v).transpose(0, 1), weights


def _by_head(weights: Tensor | None, batch: int, num_heads: int, average: bool) -> Tensor | None:
    """The weights of each head, or their mean."""
    if weights is None:
        return None
    weights = weights.view(batch, num_heads, *weights.shape[1:])
    return weights.mean(1) if average else weights


@overridable
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention in several heads at once, each with its own part of the features, between two projections.

    Tensors are (time, batch, features), or without a batch. With `need_weights`, the weights come second. `static_k`
    and `static_v` stand for keys and values that are projected already, `bias_k` and `bias_v` are one more of each for
    every sequence, as is the zero of `add_zero_attn`.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        found = {id(t): t.unsqueeze(1) for t in (query, key, value)}  # what was one tensor stays one
        query, key, value = [found[id(t)] for t in (query, key, value)]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, embed_dim = query.shape
    heads = batch * num_heads
    key_padding_mask, attn_mask, is_causal = _masks_and_hint(
        key_padding_mask, attn_mask, query.dtype, is_causal, need_weights
    )
    _require(
        embed_dim == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    head_dim = embed_dim // num_heads
    _require(head_dim * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, separate)
    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, heads, queries, key.shape[0])
    masks = (attn_mask, key_padding_mask)
    if _one_more(bias_k, bias_v, static_k, static_v) and bias_k is not None and bias_v is not None:
        k, v = [functions["cat"]([t, bias.repeat(1, batch, 1)]) for t, bias in ((k, bias_k), (v, bias_v))]
        masks = (_padded(masks[0]), _padded(masks[1]))
    q = _in_heads(q, None, "q", heads, head_dim)
    k = _in_heads(k, static_k, "k", heads, head_dim)
    v = _in_heads(v, static_v, "v", heads, head_dim)
    if add_zero_attn:
        k, v = [functions["cat"]([t, t.new_zeros((heads, 1, head_dim))], 1) for t in (k, v)]
        masks = (_padded(masks[0]), _padded(masks[1]))
    mask = _merged(*masks, batch, num_heads, k.size(1))
    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        _require(not is_causal or mask is not None, "FIXME: is_causal not implemented for need_weights")
        attended, weights = _attended_with_weights(q, k, v, mask, dropout_p)
    else:
        attended = _attended(q, k, v, mask, batch, num_heads, dropout_p, is_causal)
    output = linear(attended.reshape(queries * batch, embed_dim), out_proj_weight, out_proj_bias)
    output = output.view(queries, batch, output.size(1))
    weights = _by_head(weights, batch, num_heads, average_attn_weights)
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)
