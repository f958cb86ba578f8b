"""What is done with quantized tensors, and with integers that stand for weights."""

from __future__ import annotations

from . import fake, making, packed, rules

__all__ = ["fake", "making", "packed", "rules"]
