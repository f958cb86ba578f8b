"""`LinearCrossEntropyOptions`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...core.values.dtype import bfloat16, dtype, float16, float32

__all__ = ["LinearCrossEntropyOptions"]

_METHOD = re.compile("auto|aspect_ratio(:0*[1-9][0-9]*)?")


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts `linear_cross_entropy` into chunks. Here it is computed at once, in the precision asked for."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dtype | None = None

    def check(self) -> None:
        if self.chunking_method is not None and not _METHOD.fullmatch(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")

    def widens(self, operands: dtype) -> bool:
        """Whether scores of such operands are kept in float32."""
        if operands not in (float16, bfloat16):
            return False
        return self.acc_policy in ("auto", "accurate") and (
            self.acc_dtype is float32 or (self.acc_dtype is None and self.acc_policy == "auto")
        )
