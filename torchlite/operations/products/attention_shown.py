"""Attention in the operations that a dispatch mode sees of it: a fused kernel's, or those of its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Along, By, Op, publish, refused
from ...core.machine import Tensor, functions
from ...core.values import Array, Namespace, dt
from ..formulas import options
from ..pointwise.arithmetic import multiply_by
from ..reductions.softmax import NOT_FLOAT, softmax_backward
from .matmul import matmul


def _safe(xp: Namespace, array: Array, axis: int, *_: Any) -> Any:
    """Softmax, which is zero along rows that are masked altogether."""
    largest = array.max(axis, keepdims=True) if array.size else 0
    weights = xp.exp(array - xp.where(xp.isfinite(largest), largest, 0))
    total = weights.sum(axis, keepdims=True)
    return weights / xp.where(total == 0, 1, total)


safe_softmax = Along(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None)", _safe,
    By(softmax_backward, {"output": "result", "input_dtype": "self_dtype"}), node="SafeSoftmaxBackward0",
    refuse=refused("softmax_lastdim_kernel_impl", *NOT_FLOAT),
)  # fmt: skip


publish(safe_softmax, method=False)


def weighed(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None, cast: bool = True
) -> Tensor:
    """The weights of attention: both factors of the scores are scaled. A mask is cast to what is added."""
    root = math.sqrt(scale if scale is not None else 1 / math.sqrt(query.shape[-1]))
    scaled = multiply_by.apply(query, root)
    if is_causal:
        allowed = functions["ones"]((query.shape[-2], key.shape[-2]), **options(query) | {"dtype": dt.bool_})
        mask = allowed.tril()
    if cast or is_causal:
        mask = _added(mask, query)
    scores = matmul.apply(scaled, multiply_by.apply(key.transpose(-2, -1), root))
    return safe_softmax.apply(scores if mask is None else scores + mask, -1, None)


def unfused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None,
) -> Tensor:  # fmt: skip
    """What PyTorch computes where no kernel does it all."""
    weights = weighed(query, key, mask, is_causal, scale)
    if dropout_p > 0:
        weights = functions["dropout"](weights, dropout_p, True)
    return matmul.apply(weights, value)


def _added(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask as what is added to the scores."""
    if mask is None or mask.dtype is not dt.bool_:
        return mask
    return functions["where"](mask, 0.0, functions["scalar_tensor"](-math.inf, dtype=query.dtype, device=query.device))


_NAME = "_scaled_dot_product_flash_attention_for_cpu"


def declare(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Tensor]:
    """What runs the fused kernel as PyTorch's overloads, from kernels that keep the logarithms of sums."""

    def run(xp: Namespace, q: Array, k: Any, v: Any, dropout_p: float, causal: bool, mask: Any, scale: Any) -> Any:
        made, sums = forward(xp, q, k, v, mask, causal, scale or 1 / math.sqrt(q.shape[-1]), True)
        return made, sums.reshape(q.shape[:-1])

    def run_back(
        xp: Namespace, g: Array, q: Array, k: Any, v: Any, out: Any, sums: Array, dropout_p: float, causal: bool,
        mask: Any, scale: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        kept = sums.reshape((-1, q.shape[-2], 1))
        factor = scale or 1 / math.sqrt(q.shape[-1])
        made = backward(xp, g, q, k, v, mask, out, kept, causal, factor, (True,) * 3, True)[:3]
        return tuple([xp.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2) for a in made])  # as PyTorch lays them

    fused_backward = Op(
        f"{_NAME}_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, "
        "float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, "
        "Tensor grad_key, Tensor grad_value)",
        run_back,
    )

    def gradients(
        g: Tensor, query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool,
        attn_mask: Tensor | None, scale: Any, output: Tensor, logsumexp: Tensor,
    ) -> Sequence[Any]:  # fmt: skip
        return *fused_backward.apply(
            g, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale
        ), None

    fused = Op(
        f"{_NAME}(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, "
        "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
        run, gradients, node="ScaledDotProductFlashAttentionForCpuBackward0", differentiable=1,
    )  # fmt: skip

    def call(
        query: Tensor, key: Tensor, value: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: Any
    ) -> Tensor:
        return fused.apply(query, key, value, dropout_p, is_causal, _added(mask, query), scale)[0]

    return call
