"""torch.linalg: linear algebra."""

from __future__ import annotations

from .ops.linalg import LinAlgError as LinAlgError
from .ops.linalg import linalg as _linalg

globals().update(_linalg)
