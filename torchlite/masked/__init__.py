"""torch.masked: reductions and normalisations that pass over the elements where a mask is False."""

from . import _ops
from ._ops import *
from .maskedtensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from .masks import _input_mask, _output_mask

__all__ = [
    "MaskedTensor", "_input_mask", "_output_mask", "as_masked_tensor", "is_masked_tensor", "masked_tensor",
    *_ops.__all__,
]  # fmt: skip
