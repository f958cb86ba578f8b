"""`torch.testing.make_tensor`: tensors of random values, for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.machine.registry import functions as F
from ..core.values import DeviceLike, dt, warn


def make_tensor(
    *shape: Any, dtype: dt.dtype, device: DeviceLike, low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor with values between `low` and `high` (excluded), which by default are -9 and 9, or suit the dtype."""
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    low, high = _bounds(dtype, low, high)
    if noncontiguous and sizes:  # every second of twice as many
        *lead, last = F["empty"](sizes, device="meta").shape
        sizes = (*lead, 2 * last)
    if dtype.category < dt.FLOAT:
        made = F["randint"](math.ceil(low), math.ceil(high), sizes, device=device, dtype=dtype)
    elif dtype in dt.EIGHT_BITS:
        made = F["empty"](sizes, device=device).uniform_(low, high).to(dtype)
    elif high - low >= dt.finfo(dtype.to_real()).max:  # beyond what is drawn from at once
        made = make_tensor(sizes, dtype=dtype, device=device, low=low / 2, high=high / 2) * 2
    else:
        made = F["empty"](sizes, device=device, dtype=dtype)
        (F["view_as_real"](made) if dtype.is_complex else made).uniform_(low, high)
    if noncontiguous and sizes:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if dtype.category < dt.FLOAT else dt.finfo(dtype.to_real()).tiny
    if dtype.category >= dt.FLOAT:
        made.requires_grad = requires_grad if dtype not in dt.EIGHT_BITS else False
    elif requires_grad:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    return made


def _bounds(dtype: dt.dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Which values to draw: what was asked for, or what suits the dtype, within what it can hold."""
    usual: tuple[float, float] = (0, 2) if dtype is dt.bool_ else (0, 10) if dtype is dt.uint8 else (-9, 10)
    if dtype.category >= dt.FLOAT:
        usual = (-9, 9)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.category >= dt.FLOAT and dtype not in dt.EIGHT_BITS:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    least, end = _limits(dtype)
    if low >= end or high < least:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {end})"
        )
    return max(low, least), min(high, end)


def _limits(dtype: dt.dtype) -> tuple[Any, Any]:
    """The least that a dtype holds, and where what is drawn ends."""
    if dtype is dt.bool_:
        return 0, 2
    if dtype.category < dt.FLOAT:
        return dt.iinfo(dtype).min, dt.iinfo(dtype).max + 1
    return dt.finfo(dtype.to_real()).min, dt.finfo(dtype.to_real()).max
