"""`functorch.einops`."""

from ...func import rearrange

__all__ = ["rearrange"]
