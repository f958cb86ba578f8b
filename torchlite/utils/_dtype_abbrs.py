"""`torch.utils._dtype_abbrs`: short names of dtypes, as listings of calls print them."""

from __future__ import annotations

import re

from .. import bits1x8, bits2x4, bits4x2, bits8, bits16, float4_e2m1fn_x2
from ..core.values import dtype as dt

__all__ = ["dtype_abbrs"]

_LETTERS = {"uint": "u", "int": "i", "float": "f", "complex": "c", "bfloat": "bf"}


def _short(dtype: dt.dtype) -> str:
    kind, rest = re.fullmatch(r"torch\.([a-z]+)(.*)", str(dtype)).groups()  # type: ignore[union-attr]
    return _LETTERS[kind] + rest.replace("_", "")


dtype_abbrs = {
    dt.bool_: "b8", bits8: "b8x1", bits16: "b16x1", bits1x8: "b1x8", bits2x4: "b2x4", bits4x2: "b4x2",
} | {
    dtype: _short(dtype)
    for dtype in (
        dt.bfloat16, dt.float16, dt.float32, dt.float64, dt.complex32, dt.complex64, dt.complex128,
        dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64,
        dt.float8_e4m3fn, dt.float8_e4m3fnuz, dt.float8_e5m2, dt.float8_e5m2fnuz, dt.float8_e8m0fnu, float4_e2m1fn_x2,
    )
}  # fmt: skip
