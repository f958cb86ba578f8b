"""`torch.nn.functional`: what modules compute, as functions of their parameters."""

from __future__ import annotations

from typing import Any

from ...core.op import functions as _functions
from ...ops.linear import linear
from ._activation import *
from ._loss import *
from ._normalization import *

bilinear = _functions["bilinear"]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.nn.functional.{name} yet (docs/coverage.md lists what there is)")
