"""Scaled dot-product attention: averages of values, weighted by how well queries and keys agree.

The kernels take some heads, or some queries of one head, at a time, so that never many more than `BLOCK` scores are in
work. Forward keeps the weights where there are no more than `KEPT` of them, and else only the logarithm of each query's
sum, from which backward finds them again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.declare import Op, publish_python, published
from ...core.machine import Tensor, TensorBase, functions, requires_grad, wrap
from ...core.state import is_watched, local
from ...core.values import Array, Backend, Namespace, broadcast_shapes, dt, within
from ...kernels.summing import widened
from ..gradient_kernels import by_kernel_of
from ..making.draws import draws_itself, stream_of, stream_of_device
from . import attention_kernels
from . import attention_shown as shown
from .matmul import matmul

BLOCK = 1 << 16  # scores, which a processor's own memory holds
KEPT = 1 << 20

# ---- on arrays


def _blocks(heads: int, queries: int, keys: int, causal: bool) -> Iterator[tuple[slice, slice, slice]]:
    """Which heads, queries and keys to take at a time. Causal queries need no keys beyond the last of them."""
    together = max(1, BLOCK // max(1, queries * keys))
    rows = max(1, min(queries, BLOCK // max(1, keys)))
    for h in range(0, heads, together):
        for q in range(0, queries, rows):
            end = min(q + rows, queries)
            yield slice(h, h + together), slice(q, end), slice(0, min(end, keys) if causal else keys)


def _whole(heads: int, queries: int, keys: int) -> bool:
    """Whether all weights are kept."""
    return heads * queries * keys <= KEPT


def _flat(a: Any) -> Any:
    """One dimension of heads, whatever is in front."""
    return a.reshape((math.prod(a.shape[:-2]), *a.shape[-2:]))


class _Scores:
    """The masked scores of a block, `query @ key.T` and what is added to it."""

    def __init__(self, xp: Namespace, query: Array, key: Array, mask: Any, causal: bool) -> None:
        self.xp, self.query, self.key, self.causal = xp, _flat(query), _flat(key), causal
        lead = query.shape[:-2]
        self.shared = mask is None or math.prod(mask.shape[:-2]) == 1
        if mask is not None:
            sizes = (query.shape[-2], key.shape[-2])
            own = mask.reshape(mask.shape[-2:]) if self.shared else mask
            mask = xp.broadcast_to(own, sizes if self.shared else (*lead, *sizes))
        self.mask = mask
        self.places: Any = None if self.shared else xp.indices(lead).reshape((len(lead), -1))

    def __call__(self, h: slice, q: slice, k: slice, out: Any = None) -> Any:
        xp = self.xp
        scores = xp.matmul(self.query[h, q], self.key[h, k].transpose(0, 2, 1), out=out)
        if self.mask is not None:
            mask = self.mask[q, k] if self.shared else self.mask[tuple(self.places[:, h])][:, q, k]
            if mask.dtype.kind == "b":
                mask = xp.where(mask, xp.zeros((), scores.dtype), scores.dtype.type(-math.inf))
            scores += mask
        if self.causal:
            scores += xp.triu(xp.full(scores.shape[1:], -math.inf, scores.dtype), q.start + 1)
        return scores


def _attention(
    xp: Namespace, query: Array, key: Array, value: Any, mask: Any, causal: bool, scale: float, sums: bool = False
) -> tuple[Any, Any]:
    d, like = query.dtype, query
    query, key, value = widened(query), widened(key), widened(value)
    mask = None if mask is None else widened(mask)
    scores_of = _Scores(xp, query * query.dtype.type(scale), key, mask, causal)
    values = _flat(value)
    heads, queries, keys = len(values), query.shape[-2], key.shape[-2]
    result = xp.empty((heads, queries, value.shape[-1]), query.dtype)
    limits = xp.finfo(query.dtype)
    whole = not sums and _whole(heads, queries, keys)
    kept = xp.empty((heads, queries, keys if whole else 1), query.dtype)
    ones = xp.ones((keys, 1), query.dtype)  # a product with which is the fastest sum
    for h, q, k in _blocks(heads, queries, keys, causal) if keys else ():
        scores = scores_of(h, q, k, kept[h, q, k] if whole else None)
        largest = scores.max(-1, keepdims=True)
        xp.maximum(largest, limits.min, out=largest)  # where all is masked
        scores -= largest
        xp.exp(scores, scores)
        total = xp.matmul(scores, ones[k])
        xp.maximum(total, limits.tiny, out=total)
        if whole:
            scores /= total
            result[h, q] = xp.matmul(scores, values[h, k])
        else:
            result[h, q] = xp.matmul(scores, values[h, k]) / total
            kept[h, q] = xp.log(total) + largest
    if not keys:
        result[...] = 0
    return _laid_like(xp, result.reshape((*query.shape[:-1], value.shape[-1])).astype(d, copy=False), like), kept


def _laid_like(xp: Namespace, made: Array, like: Array) -> Any:
    """In memory, batch, heads and queries of the result lie in the order of those of the queries."""
    if like.ndim != 4 or like.flags.c_contiguous or made.shape != like.shape or 0 in like.strides:
        return made
    result = xp.empty_like(like)
    result[...] = made
    return result


def _attention_backward(
    xp: Namespace, g: Array, query: Array, key: Array, value: Any, mask: Any, result: Any, kept: Any, causal: bool,
    scale: float, needs: Sequence[bool], sums: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    d = query.dtype
    g, query, key, value, result = [widened(a) for a in (g, query, key, value, result)]
    mask = None if mask is None else widened(mask)
    scale = query.dtype.type(scale)
    scores_of = _Scores(xp, query * scale, key, mask, causal)
    queries, keys, values, given = scores_of.query, scores_of.key, _flat(value), _flat(g)
    whole = not sums and _whole(len(keys), queries.shape[1], keys.shape[1])
    to_query, to_key, to_value = [xp.zeros(a.shape, a.dtype) for a in (queries, keys, values)]
    for h, q, k in _blocks(len(keys), queries.shape[1], keys.shape[1], causal):
        if whole:
            weights = kept[h, q, k]
        else:
            weights = scores_of(h, q, k)
            weights -= kept[h, q]
            xp.exp(weights, weights)
        turned = weights.transpose(0, 2, 1)
        if needs[2]:
            to_value[h, k] += xp.matmul(turned, given[h, q])
        if needs[0] or needs[1]:
            to_scores = xp.matmul(given[h, q], values[h, k].transpose(0, 2, 1))
            to_scores -= xp.einsum("hqk,hqk->hq", to_scores, weights)[:, :, None]  # as exact as they are
            to_scores *= weights
            if needs[0]:
                to_query[h, q] = xp.matmul(to_scores, keys[h, k])
            if needs[1]:
                to_key[h, k] += xp.matmul(to_scores.transpose(0, 2, 1), queries[h, q])
    to_query *= scale
    made = ((to_query, query), (to_key, key), (to_value, value))
    return *[a.reshape(like.shape).astype(d, copy=False) if n else None for (a, like), n in zip(made, needs)], None


# ---- on tensors: the same in steps, for batches, for derivatives of gradients and for what the kernels do not take


def _weights(query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """All weights; those of a query that may look at nothing are zero."""
    scores = matmul.apply(query * scale, key.transpose(-2, -1))
    if causal:
        mask = scores.new_ones(scores.shape[-2:], dtype=dt.bool_).tril()
    if mask is None:
        return scores.softmax(-1)
    within(scores._array.shape, mask._array.shape)
    if mask.dtype is dt.bool_:
        mask = scores.new_zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    scores = scores + mask
    weights = scores.to(query.dtype).softmax(-1)
    return weights if causal else weights.masked_fill(scores.eq(-math.inf).all(-1, True), 0)


def _both(causal: bool, mask: Tensor | None, query: Tensor, key: Tensor) -> tuple[bool, Tensor | None]:
    """Causality and a mask as a mask that has both, if there are both."""
    if not causal or mask is None:
        return causal, mask
    triangle = query.new_ones((query.shape[-2], key.shape[-2]), dtype=dt.bool_).tril()
    return False, mask.logical_and(triangle) if mask.dtype is dt.bool_ else mask.masked_fill(~triangle, -math.inf)


def _in_steps(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    causal, mask = _both(is_causal, attn_mask, query, key)
    return matmul.apply(_weights(query, key, mask, causal, scale), value), query.new_zeros(())


def _gradients_in_steps(
    g: Tensor, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float,
    factors: Tensor | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of attention, whose weights were multiplied by `factors`, if there are any."""
    causal, mask = _both(is_causal, attn_mask, query, key)
    used = weights = _weights(query, key, mask, causal, scale)
    to_weights = matmul.apply(g, value.transpose(-2, -1))
    if factors is not None:
        used, to_weights = weights * factors, to_weights * factors
    to_scores = weights * (to_weights - (to_weights * weights).sum(-1, True)) * scale
    turned = to_scores.transpose(-2, -1)
    return matmul.apply(to_scores, key), matmul.apply(turned, query), matmul.apply(used.transpose(-2, -1), g), None


# ---- the op

attention_backward = Op(
    "_scaled_dot_product_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, "
    "Tensor result0, Tensor result1, bool is_causal, float scale, any needs) -> (Tensor result0, Tensor result1, "
    "Tensor result2, Tensor result3)",
    _attention_backward,
)


def _gradients(
    g: Tensor, needs: Sequence[bool], query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
    is_causal: bool, scale: float, result0: Tensor, result1: Tensor,
) -> tuple[Any, ...]:  # fmt: skip
    operands = (query, key, value, attn_mask)
    if local.state.mode.grad or any([t._backend.level for t in (g, *operands) if isinstance(t, TensorBase)]):
        return _gradients_in_steps(g, *operands, is_causal, scale)
    return attention_backward.apply(g, *operands, result0, result1, is_causal, scale, needs)


attention = Op(
    "_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
    "float scale) -> (Tensor result0, Tensor result1)",
    _attention, _gradients, node="ScaledDotProductFlashAttentionForCpuBackward0", batch=_in_steps, differentiable=1,
    on_arrays=by_kernel_of(attention_backward, several=True),
)  # fmt: skip


# ---- with dropout, where a device draws itself


def _dropped(backend: Backend, query: Array, *operands: Any) -> Any:
    *others, generator = operands
    return stream_of_device("_dropped_attention", generator, backend).attention(query, *others)


def _dropped_backward(backend: Backend, g: Array, *operands: Any) -> Any:
    return stream_of_device("_dropped_attention_backward", None, backend).attention_backward(g, *operands)


dropped_backward = Op(
    "_dropped_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, "
    "Tensor result0, Tensor result1, Tensor result2, bool is_causal, float scale, float p, any needs) -> "
    "(Tensor result0, Tensor result1, Tensor result2, Tensor result3)",
    _dropped_backward, on_backend=True, by_form=False,
)  # fmt: skip


def _gradients_of_dropped(
    g: Tensor, needs: Sequence[bool], query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None,
    is_causal: bool, scale: float, p: float, result0: Tensor, result1: Tensor, result2: Tensor,
) -> tuple[Any, ...]:  # fmt: skip
    operands = (query, key, value, attn_mask)
    if not local.state.mode.grad:
        return dropped_backward.apply(g, *operands, result0, result1, result2, is_causal, scale, p, needs)
    backend, size = query._backend.home, (*query.shape[:-1], key.shape[-2])
    stream = stream_of_device("_dropped_attention_backward", None, backend)
    factors = wrap(stream.dropped_again(result2._array, size, query.dtype.numpy, p), query.dtype, backend)
    return _gradients_in_steps(g, *operands, is_causal, scale, factors)


dropped_attention: Op = Op(
    "_dropped_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float scale, "
    "float p, Generator? generator=None) -> (Tensor result0, Tensor result1, Tensor result2)",
    _dropped, _gradients_of_dropped, node="ScaledDotProductEfficientAttentionBackward0", on_backend=True,
    by_form=False, differentiable=1,
)  # fmt: skip


def _drops(operands: Sequence[Tensor], mask: Tensor | None, p: float) -> bool:
    """Whether the device drops weights of queries, keys and values within attention."""
    if not 0 < p < 1 or not draws_itself(operands[0]):
        return False
    stream: Any = stream_of(None, operands[0]._backend.home)
    return stream.takes_attention(*[t._array for t in operands], None if mask is None else mask._array)


_run_fused = shown.declare(_attention, _attention_backward)


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    operands = {"query": query, "key": key, "value": value}
    if not query.dtype is key.dtype is value.dtype:
        shown = [f"{name}.dtype: {t.dtype.cname}" for name, t in operands.items()]
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got {shown[0]} {shown[1]} and {shown[2]} "
            "instead."
        )
    if any([t.dim() < 2 for t in operands.values()]):
        shown = [f"{name}.dim: {t.dim()}" for name, t in operands.items()]
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got {shown[0]} {shown[1]} and "
            f"{shown[2]} instead."
        )
    if mask is not None and mask.dtype not in (dt.bool_, dt.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.cname} and  query.dtype: {query.dtype.cname} instead."
        )


def _grouped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values repeated for all the heads of queries that share them."""
    heads = [t.shape[-3] for t in (query, key, value)]
    if heads[0] % heads[1] or heads[0] % heads[2]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in")
    return key.repeat_interleave(heads[0] // heads[1], -3), value.repeat_interleave(heads[0] // heads[2], -3)


def _aligned(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, ...] | None:
    """The operands with the same dimensions in front; None where the kernels do not take them."""
    if query.dtype not in dt.FLOATS or not query._backend.real.values:
        return None
    shapes = [t._array.shape for t in (query, key, value)]
    if shapes[0][-1] != shapes[1][-1] or shapes[1][-2] != shapes[2][-2]:
        return None
    leads = [s[:-2] for s in shapes]
    lead = leads[0] if leads[0] == leads[1] == leads[2] else broadcast_shapes(*leads)
    if mask is not None:
        have, wanted = mask._array.shape, (*lead, shapes[0][-2], shapes[1][-2])
        if len(have) > len(wanted) or any([a not in (1, b) for a, b in zip(reversed(have), reversed(wanted))]):
            return None
    return tuple([t if t._array.shape[:-2] == lead else t.expand((*lead, *t.shape[-2:])) for t in (query, key, value)])


def _takes(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, grouped: bool) -> bool:
    """Whether PyTorch's fused kernel takes these."""
    q, k, v = [t._array.shape for t in (query, key, value)]
    if not len(q) == len(k) == len(v) == 4 or dropout_p or (mask is not None and requires_grad(mask)):
        return False
    heads = q[1] == k[1] == v[1] or (grouped and not (q[1] % k[1] or q[1] % v[1]))
    return query.dtype in dt.FLOATS and heads and q[0] == k[0] == v[0] and q[3] == k[3] == v[3] and bool(q[2] and k[2])


_OPERANDS = (
    "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False)"
)


@published(f"_fused_sdp_choice{_OPERANDS}", method=False, by_form=False)
def _fused_sdp_choice(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> int:  # fmt: skip
    """The number of the kernel that PyTorch would choose among those that are allowed."""
    flash = attention_kernels.flash_sdp_enabled()
    if flash and _takes(query, key, value, attn_mask, dropout_p, enable_gqa):
        return 1
    if attention_kernels.math_sdp_enabled():
        return 0
    if flash:
        raise RuntimeError("No available kernel.  Aborting execution.")
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
        "kernel and the fused kernels."
    )


def _scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> Tensor:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`: for each query an average of values.

    `attn_mask` says which keys a query may look at, or is added to the scores; `is_causal` lets each look at those up
    to its own place. `scale` is one over the root of the number of features unless it is given. With `enable_gqa`,
    several heads of queries share one of keys and values.
    """
    _check(query, key, value, attn_mask)
    if not attention_kernels.math_sdp_enabled():
        _fused_sdp_choice(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    given = scale
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 0.0
    if enable_gqa:
        key, value = _grouped(query, key, value)
    four = query.dim() == key.dim() == value.dim() == 4 and query.shape[-1] == value.shape[-1]
    differentiated = attn_mask is not None and requires_grad(attn_mask)
    if is_causal and attn_mask is not None and (not four or differentiated or dropout_p):
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if is_watched() or query._backend.handed:
        fused = _takes(query, key, value, attn_mask, dropout_p, enable_gqa)
        run = _run_fused if fused else shown.unfused
        return run(query, key, value, attn_mask, dropout_p, is_causal, given)
    operands = None if differentiated else _aligned(query, key, value, attn_mask)
    if operands is not None and not dropout_p:
        return attention.apply(*operands, attn_mask, is_causal, scale)[0]
    if operands is not None and _drops(operands, attn_mask, dropout_p):
        return dropped_attention.apply(*operands, attn_mask, is_causal, scale, 1 - dropout_p, None)[0]
    causal, mask = _both(is_causal, attn_mask, query, key)
    weights = _weights(query, key, mask, causal, scale)
    if dropout_p:
        weights = functions["dropout"](weights, dropout_p, True)
    return matmul.apply(weights, value)


scaled_dot_product_attention = publish_python(
    f"scaled_dot_product_attention{_OPERANDS}", _scaled_dot_product_attention, function=False, method=False,
    by_form=False,
)
