"""Tensors from nothing, from numbers drawn, from the host's data, and from other tensors' memory."""
