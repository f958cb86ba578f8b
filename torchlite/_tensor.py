"""`torch._tensor`: the class of tensors, and how pickles make instances of subclasses."""

from __future__ import annotations

from .core.machine.tensor import Tensor
from .operations.making.pickles import _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
