"""The memory behind tensors, and moving it."""
