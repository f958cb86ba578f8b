"""Attention with changed scores, as compiled programs call it: all is given, and the logarithms are of base 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.machine import Tensor
from ..nn.attention.flex_attention import attend

__all__ = ["flex_attention"]


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Any], block_mask: tuple[Any, ...], scale: float,
    kernel_options: dict[str, Any], score_mod_other_buffers: tuple[Any, ...] = (),
    mask_mod_other_buffers: tuple[Any, ...] = (),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The result, and of each query the logarithm of its sum and its largest score.

    The functions get their buffers after the places.
    """
    result, scores = attend(
        query, key, value, lambda *at: score_mod(*at, *score_mod_other_buffers),
        lambda *at: block_mask[-1](*at, *mask_mod_other_buffers), scale,
    )  # fmt: skip
    return result, scores.logsumexp(-1) / math.log(2), scores.detach().amax(-1) / math.log(2)
