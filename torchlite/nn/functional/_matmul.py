"""Products of matrices in groups, and of matrices in eight bits."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import Tensor, functions, overridable
from ...core.values import dt
from ...operations.products.scaled_products import by_tensor_or_row, scaled_product

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.IntEnum):
    """Which elements share a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


_GROUPED = (dt.float32, dt.bfloat16, dt.float16)


def _check_grouped(a: Tensor, b: Tensor, offs: Tensor | None, bias: Tensor | None, out_dtype: Any) -> None:
    for name, t in (("mat_a", a), ("mat_b", b)):
        if t.dtype not in _GROUPED:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {t.dtype.legacy}")
        if t.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) is not (a.dim() == b.dim() == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs.dtype is not dt.int32:
        raise RuntimeError("Offsets have to be int32")
    groups = [len(t) for t in (a, b) if t.dim() == 3] + ([] if offs is None else [len(offs)])
    if len(set(groups)) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


@overridable
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
    out_dtype: dt.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Products of groups of matrices. One given as a matrix is cut where `offs` says that groups end:

    rows of `mat_a`, columns of `mat_b`, or of both the dimension that is summed over.
    """
    _check_grouped(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a.bmm(mat_b)
    flat_a, flat_b = mat_a.dim() == 2, mat_b.dim() == 2
    ends: list[int] = offs.tolist()
    groups = [slice(start, end) for start, end in zip([0, *ends], ends)]
    over = flat_a and flat_b  # the dimension that is summed over is cut
    lefts = [mat_a[:, g] if over else mat_a[g] for g in groups] if flat_a else list(mat_a)
    rights = [mat_b[g] if over else mat_b[:, g] for g in groups] if flat_b else list(mat_b)
    products = [a.mm(b) for a, b in zip(lefts, rights)]
    if over:
        return functions["stack"](products)
    made = functions["cat"](products, 0 if flat_a else 1)
    lacking = (len(mat_a) if flat_a else mat_b.shape[1]) - ends[-1]
    return functions["constant_pad_nd"](made, (0, 0, 0, lacking) if flat_a else (0, lacking)) if lacking else made


def _one(value: Any) -> Any:
    """The one thing in a list of one."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


@overridable
def scaled_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor], scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor], scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None, swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None, output_dtype: dt.dtype | None = dt.bfloat16, contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """The product of matrices in eight bits, each with one scale, or with one for each row of `a` and column of `b`."""
    recipes = _one(scale_recipe_a), _one(scale_recipe_b)
    if recipes[0] is not recipes[1] or recipes[0] > ScalingType.RowWise:
        raise NotImplementedError(
            f"torchlite's scaled_mm scales by tensor or by row, not by {recipes[0]!r} and {recipes[1]!r}"
        )
    scales = _one(scale_a), _one(scale_b)
    product = scaled_product(mat_a, mat_b, scales, by_tensor_or_row(mat_a, mat_b)[recipes[0]])
    return (product if bias is None else product + bias).to(output_dtype or dt.bfloat16)


@overridable
def scaled_grouped_mm(mat_a: Tensor, mat_b: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Not here, nor in PyTorch on the CPU: `scaled_mm` for each group does the same."""
    raise NotImplementedError("torchlite has no kernel for scaled_grouped_mm: call scaled_mm for each group")


def assert_int_or_pair(arg: list[int], arg_name: str, message: str) -> None:
    """That an argument is a number, or a pair of them."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any], if_false: Callable[..., Any],
    module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """One function of two, of which an argument chooses."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)

    if func_name is not None:
        chosen.__name__ = func_name
    if module_name is not None:
        chosen.__module__ = module_name
    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")
    doc = if_true.__doc__ if if_true.__doc__ is not None else if_false.__doc__
    if doc is not None:
        chosen.__doc__ = doc
        for choice in (if_true, if_false):
            if choice.__doc__ is None:
                choice.__doc__ = doc
    return chosen
