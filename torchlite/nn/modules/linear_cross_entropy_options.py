"""`LinearCrossEntropyOptions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...core.values.dtype import dtype

__all__ = ["LinearCrossEntropyOptions"]


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts `linear_cross_entropy` into chunks. Here it is computed at once, whatever they say."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dtype | None = None
