"""`torch.cuda.sparse`: the types of sparse tensors of long ago, on CUDA devices."""

from ..sparse._types import TYPES

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip

(
    BFloat16Tensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, ShortTensor,
) = [TYPES[f"torch.cuda.sparse.{name}"] for name in __all__]  # fmt: skip
