"""`torch._functorch.einops`."""

from ..func.rearrange import rearrange

__all__ = ["rearrange"]
