"""`torch.utils._dtype_abbrs`: short names of dtypes, as listings of calls print them."""

from .. import bits1x8, bits2x4, bits4x2, bits8, bits16, float4_e2m1fn_x2
from ..core.values import dtype as dt

__all__ = ["dtype_abbrs"]

_OTHERS = (dt.complex32, bits1x8, bits2x4, bits4x2, bits8, bits16, float4_e2m1fn_x2)
dtype_abbrs = {dtype: dtype.abbr for dtype in dict.fromkeys((*dt.DTYPES, *_OTHERS))}
