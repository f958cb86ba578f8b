"""`torch.cuda.green_contexts`: parts of a GPU, of which CuPy knows nothing."""

from .unsupported import GreenContext

__all__ = ["GreenContext"]

SUPPORTED = False
