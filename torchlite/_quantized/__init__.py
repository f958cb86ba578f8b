"""What is done with quantized tensors, and with integers that stand for weights."""

from . import fake, making, operations, packed

__all__ = ["fake", "making", "operations", "packed"]
