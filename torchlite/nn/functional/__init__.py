"""`torch.nn.functional`: what modules compute, as functions of their parameters."""

from __future__ import annotations

from typing import Any

from ...ops.linear import linear
from ._activation import *
from ._attention import *
from ._attention import _canonical_mask, _none_or_dtype
from ._distance import *
from ._dropout import *
from ._loss import *
from ._matmul import *
from ._matmul import assert_int_or_pair, boolean_dispatch
from ._normalization import *
from ._sparse import *
from ._spatial import *


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.nn.functional.{name} yet (docs/coverage.md lists what there is)")
