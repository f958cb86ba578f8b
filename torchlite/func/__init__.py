"""`torch.func`: transforms of functions."""

from .dual import jvp
from .mapping import vmap

__all__ = ["jvp", "vmap"]
