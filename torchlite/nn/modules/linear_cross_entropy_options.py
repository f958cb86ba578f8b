"""`LinearCrossEntropyOptions`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from ...core.values import bfloat16, float16, float32, float64
from ...core.values.dtype import dtype

__all__ = ["LinearCrossEntropyOptions"]

Policy = Literal["accurate", "balanced", "compact", "auto"]
_DTYPES = (float16, bfloat16, float32, float64)
_METHOD = re.compile("auto|aspect_ratio(:0*[1-9][0-9]*)?")


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts `linear_cross_entropy` into chunks. Here it is computed at once, in the precision asked for."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Policy = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if method is not None and not isinstance(method, str):
            raise AttributeError(f"{type(method).__name__!r} object has no attribute 'partition'")
        if method is not None and not _METHOD.fullmatch(method):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in get_args(Policy):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if not (self.acc_dtype is None or self.acc_dtype in _DTYPES):
            raise ValueError(
                f"acc_dtype must be one of {{None, {', '.join(map(str, _DTYPES))}}}, got {self.acc_dtype!r}. "
                "Pass acc_dtype=None to let the op pick automatically."
            )

    def widens(self, operands: dtype) -> bool:
        """Whether scores of such operands are kept in float32."""
        if operands not in (float16, bfloat16):
            return False
        return self.acc_policy in ("auto", "accurate") and (
            self.acc_dtype is float32 or (self.acc_dtype is None and self.acc_policy == "auto")
        )
