"""Products of 8-bit floating-point matrices, which come with what their elements are multiples of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import published
from ...core.machine import Tensor
from ...core.values import dt, float32

_FLOAT8 = dt.EIGHT_BITS - {dt.float8_e8m0fnu}


def by_tensor_or_row(self: Tensor, mat2: Tensor) -> tuple[tuple[Any, Any], ...]:
    """The shapes of scales: one for each matrix, or one for each row of the first and each column of the second."""
    return ((), ()), ((self.shape[0], 1), (1, mat2.shape[1]))


def scaled_product(self: Tensor, mat2: Tensor, scales: tuple[Tensor, Tensor], shapes: tuple[Any, Any]) -> Tensor:
    """The product of two matrices of 8-bit numbers times their scales, which are of these shapes; of float32."""
    numbers = self.dtype in _FLOAT8 and mat2.dtype in _FLOAT8
    if not (numbers and all(s.dtype is float32 and s.numel() == math.prod(n) for s, n in zip(scales, shapes))):
        raise ValueError(
            "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be "
            "float and singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, scale_a "
            f"should be ({self.shape[0]}, 1) and scale_b should be (1, {mat2.shape[1]}), and both should be contiguous."
        )
    left, right = (m.float() * s.reshape(n) for m, s, n in zip((self, mat2), scales, shapes))
    return left @ right


@published(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
    "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False)",
    method=False,
)
def _scaled_mm(
    self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, scale_result: Tensor | None,
    out_dtype: dt.dtype | None, use_fast_accum: bool,
) -> Tensor:  # fmt: skip
    """The product of two float8 matrices, each times its scales, with `bias` added; sums are of float32."""
    if self.ndim != 2:
        raise RuntimeError("mat1 must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )
    one, each = by_tensor_or_row(self, mat2)
    shapes = one if scale_a.numel() == scale_b.numel() == 1 else each
    product = scaled_product(self, mat2, (scale_a, scale_b), shapes)
    if bias is not None:
        product = product + bias.float()
    if scale_result is not None:
        product = product * scale_result
    return product.to(self.dtype if out_dtype is None else out_dtype)


@published(
    "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, "
    "int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], "
    "bool use_fast_accum=False)",
    method=False,
)
def _scaled_mm_v2(
    self: Tensor, mat2: Tensor, scale_a: Sequence[Tensor], recipe_a: Sequence[int], swizzle_a: Sequence[int],
    scale_b: Sequence[Tensor], recipe_b: Sequence[int], swizzle_b: Sequence[int], bias: Tensor | None,
    out_dtype: dt.dtype | None, contraction_dim: Sequence[int], use_fast_accum: bool,
) -> Tensor:  # fmt: skip
    """`_scaled_mm`, told in words of `torch.nn.functional.ScalingType` how each matrix is scaled."""
    if len(scale_a) != 1 or len(scale_b) != 1 or {*recipe_a, *recipe_b} - {0, 1}:
        raise NotImplementedError("torchlite's _scaled_mm_v2 scales by tensor or by row")
    return _scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)
